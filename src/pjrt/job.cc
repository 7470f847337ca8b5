#include "pjrt/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/source.h"

namespace eightfold::pjrt {
namespace {

using nlohmann::json;

// Plugins put arbitrary bytes into messages; JSON takes only UTF-8.
Result<void> WriteJson(const path& file, const json& value) {
  return WriteFile(file.string(), value.dump(1, ' ', false, json::error_handler_t::replace));
}

Result<json> ReadJson(const path& file) {
  EF_TRY(std::string text, ReadFile(file));
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return FailCompiler(fmt::format("{} is damaged", file.string()));
  return value;
}

}  // namespace

Result<std::string> ReadFile(const path& file, uint64_t limit) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return FailCompiler(fmt::format("cannot read {}", file.string()));
  const auto size = static_cast<uint64_t>(in.tellg());
  const uint64_t wanted = std::min(size, limit);
  std::string bytes(wanted, '\0');
  in.seekg(static_cast<std::streamoff>(size - wanted));
  in.read(bytes.data(), static_cast<std::streamsize>(wanted));
  bytes.resize(static_cast<size_t>(in.gcount()));
  return bytes;
}

Result<void> WriteJob(const path& folder, const Job& job) {
  return WriteJson(folder / kJobFile, {{"describe", job.kind == Job::Kind::kDescribe},
                                       {"plugin_path", job.plugin_path},
                                       {"target_config", job.target_config},
                                       {"format", job.format},
                                       {"pass", job.pass},
                                       {"want_optimized", job.want_optimized},
                                       {"timeout_seconds", job.timeout_seconds},
                                       {"memory_limit_bytes", job.memory_limit_bytes}});
}

Result<Job> ReadJob(const path& folder) {
  EF_TRY(json value, ReadJson(folder / kJobFile));
  Job job;
  job.kind = value.value("describe", false) ? Job::Kind::kDescribe : Job::Kind::kCompile;
  job.plugin_path = value.value("plugin_path", "");
  job.target_config = value.value("target_config", "");
  job.format = value.value("format", "");
  job.pass = value.value("pass", "");
  job.want_optimized = value.value("want_optimized", true);
  job.timeout_seconds = value.value("timeout_seconds", 600.0);
  job.memory_limit_bytes = value.value("memory_limit_bytes", uint64_t{0});
  return job;
}

Result<void> WriteAnswer(const path& folder, const Answer& answer) {
  return WriteJson(folder / kAnswerFile, {{"stage", answer.stage},
                                          {"error", answer.error},
                                          {"advice", answer.advice},
                                          {"after_format", answer.after_format},
                                          {"api_minor", answer.api_minor},
                                          {"compile_seconds", answer.compile_seconds},
                                          {"pass_report", answer.pass_report},
                                          {"pass_error", answer.pass_error},
                                          {"pass_calls", answer.pass_calls},
                                          {"pass_changed", answer.pass_changed},
                                          {"pass_failed", answer.pass_failed},
                                          {"pass_seconds", answer.pass_seconds},
                                          {"attributes", answer.attributes}});
}

Result<Answer> ReadAnswer(const path& folder) {
  EF_TRY(json value, ReadJson(folder / kAnswerFile));
  Answer answer;
  answer.stage = value.value("stage", "");
  answer.error = value.value("error", "");
  answer.advice = value.value("advice", "");
  answer.after_format = value.value("after_format", "");
  answer.api_minor = value.value("api_minor", 0);
  answer.compile_seconds = value.value("compile_seconds", 0.0);
  answer.pass_report = value.value("pass_report", "");
  answer.pass_error = value.value("pass_error", "");
  answer.pass_calls = value.value("pass_calls", uint64_t{0});
  answer.pass_changed = value.value("pass_changed", uint64_t{0});
  answer.pass_failed = value.value("pass_failed", uint64_t{0});
  answer.pass_seconds = value.value("pass_seconds", 0.0);
  answer.attributes = value.value("attributes", std::map<std::string, std::string>{});
  return answer;
}

Result<void> WriteOutcome(const path& folder, const Outcome& outcome) {
  return WriteJson(folder / kOutcomeFile, {{"how", static_cast<int>(outcome.how)},
                                           {"code", outcome.code},
                                           {"peak_bytes", outcome.peak_bytes}});
}

Result<Outcome> ReadOutcome(const path& folder) {
  EF_TRY(json value, ReadJson(folder / kOutcomeFile));
  Outcome outcome;
  outcome.how = static_cast<Outcome::How>(value.value("how", 0));
  outcome.code = value.value("code", 0);
  outcome.peak_bytes = value.value("peak_bytes", uint64_t{0});
  return outcome;
}

}  // namespace eightfold::pjrt
