#include "native/live_audit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <mutex>
#include <protozero/pbf_reader.hpp>
#include <thread>
#include <utility>

#include "base/source.h"
#include "census/census.h"
#include "diagnose/diagnose.h"
#include "hlo/proto/proto.h"
#include "report/json.h"
#include "report/table.h"
#include "report/wording.h"

namespace eightfold::python {
namespace {

// Compiles that fail leave their module behind; this many are kept.
constexpr size_t kMostKept = 64;
constexpr size_t kLongestFileName = 100;

// Field 1 of HloModuleProto.
std::string NameOf(std::string_view module) {
  constexpr protozero::pbf_tag_type kName = 1;
  protozero::pbf_reader reader(module.data(), module.size());
  return reader.next(kName) ? reader.get_string() : "";
}

std::string FileName(const std::string& module) {
  std::string name = module.substr(0, kLongestFileName);
  std::ranges::replace_if(
      name,
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.'; },
      '_');
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

// "policy_move: 42 convolutions: 20 in FP8, …; EF101, EF301"
std::string Line(const report::Section& section) {
  std::string line = "eightfold: " + section.input + ":";
  std::vector<std::string> headlines = report::Headlines(section.census);
  for (const std::string& headline : headlines) {
    line += (&headline == &headlines.front() ? " " : "; ") + headline;
  }
  for (const diagnose::Finding& finding : section.findings) {
    if (finding.severity == diagnose::Severity::kNote) continue;
    line += fmt::format("{}{}", &finding == &section.findings.front() ? "; " : ", ", finding.id);
  }
  return line;
}

// What both passes share.
class Auditor {
 public:
  Auditor(pjrt::Plugin plugin, std::optional<target::Gpu> gpu, std::string folder)
      : plugin_(std::move(plugin)), gpu_(std::move(gpu)), folder_(std::move(folder)) {}

  void Keep(std::string_view module) {
    std::lock_guard lock(mutex_);
    kept_.push_back({NameOf(module), std::this_thread::get_id(), std::string(module)});
    if (kept_.size() > kMostKept) kept_.pop_front();
  }

  Result<void> Compare(std::string_view module) {
    std::string name = NameOf(module);
    std::optional<std::string> before_bytes = Take(name);
    if (!before_bytes) return {};
    EF_TRY(std::unique_ptr<hlo::Module> before,
           hlo::ReadVerifiedProto(*std::move(before_bytes), name + " (before scheduling)"));
    EF_TRY(std::unique_ptr<hlo::Module> after,
           hlo::ReadVerifiedProto(std::string(module), name + " (scheduled)"));
    report::Section section;
    section.input = name;
    section.census = census::TakeCensus(std::move(before), std::move(after));
    if (section.census.kernels.empty()) return {};
    diagnose::Setting setting;
    setting.plugin_version = plugin_.version.Release();
    if (gpu_) {
      setting.compute_capability = gpu_->ComputeCapability();
      if (gpu_->cudnn_version[0] != 0) setting.cudnn_version = gpu_->CudnnVersion();
      section.target = {gpu_->name, gpu_->title, gpu_->Architecture()};
    }
    section.findings = diagnose::Diagnose(section.census, setting);
    return Report(std::move(section));
  }

 private:
  struct Kept {
    std::string name;
    std::thread::id thread;
    std::string bytes;
  };

  // A compile stays on its thread, so that among modules of one name the thread's own is it.
  std::optional<std::string> Take(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto same_name = [&](const Kept& kept) { return kept.name == name; };
    auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
      return same_name(kept) && kept.thread == std::this_thread::get_id();
    });
    if (found == kept_.end()) found = std::ranges::find_if(kept_, same_name);
    if (found == kept_.end()) return std::nullopt;
    std::string bytes = std::move(found->bytes);
    kept_.erase(found);
    return bytes;
  }

  Result<void> Report(report::Section section) {
    if (folder_.empty()) {
      fmt::print(stderr, "{}\n", Line(section));
      return {};
    }
    std::string name = FileName(section.input);
    report::Report report{.tool_version = EIGHTFOLD_VERSION, .sections = {}, .errors = {}};
    report.sections.push_back(std::move(section));
    std::string json = report::WriteJson(report);
    std::string table = report::WriteTable(report);
    std::lock_guard lock(mutex_);
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    std::filesystem::path base = std::filesystem::path(folder_) / name;
    for (int number = 2; std::filesystem::exists(base.string() + ".json", error); ++number) {
      base = std::filesystem::path(folder_) / fmt::format("{}.{}", name, number);
    }
    EF_CHECK_OK(WriteFile(base.string() + ".txt", table));
    return WriteFile(base.string() + ".json", json);
  }

  const pjrt::Plugin plugin_;
  const std::optional<target::Gpu> gpu_;
  const std::string folder_;
  std::mutex mutex_;
  std::deque<Kept> kept_;
};

class BeforePass : public pjrt::Pass {
 public:
  explicit BeforePass(std::shared_ptr<Auditor> auditor) : auditor_(std::move(auditor)) {}
  Result<std::optional<std::string>> Run(std::string_view module) override {
    auditor_->Keep(module);
    return std::nullopt;
  }
  std::string Report() const override { return ""; }

 private:
  const std::shared_ptr<Auditor> auditor_;
};

class AfterPass : public pjrt::Pass {
 public:
  explicit AfterPass(std::shared_ptr<Auditor> auditor) : auditor_(std::move(auditor)) {}
  Result<std::optional<std::string>> Run(std::string_view module) override {
    EF_CHECK_OK(auditor_->Compare(module));
    return std::nullopt;
  }
  std::string Report() const override { return ""; }

 private:
  const std::shared_ptr<Auditor> auditor_;
};

}  // namespace

LiveAudit MakeLiveAudit(const pjrt::Plugin& plugin, const std::optional<target::Gpu>& gpu,
                        const std::string& folder) {
  auto auditor = std::make_shared<Auditor>(plugin, gpu, folder);
  return {std::make_shared<BeforePass>(auditor), std::make_shared<AfterPass>(auditor)};
}

}  // namespace eightfold::python
