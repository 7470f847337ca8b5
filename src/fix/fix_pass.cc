#include "fix/fix_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>

#include "fix/stack_frames.h"
#include "hlo/proto/proto.h"
#include "hlo/verifier.h"

namespace eightfold::rewrite {

NLOHMANN_JSON_SERIALIZE_ENUM(Extent, {{Extent::kPlanned, "planned"},
                                      {Extent::kAll, "all"},
                                      {Extent::kHideOnly, "hide_only"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConvGraphOptions, extent, compute_capability, cudnn_version,
                                   cuda_version)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Rewritten, computation, convolution, call, ops)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NearMiss, computation, instruction, convolution, condition,
                                   left_alone, no_plan, hidden)

}  // namespace eightfold::rewrite

namespace eightfold::fix {
namespace {

using Json = nlohmann::json;

template <class Value>
Result<Value> Parse(std::string_view text, const char* what) {
  try {
    return Json::parse(text).get<Value>();
  } catch (const Json::exception& error) {
    return Fail(fmt::format("{} cannot be read: {}", what, error.what()));
  }
}

// Names in a module may hold any bytes; they must not stop the report.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class FixPass : public pjrt::Pass {
 public:
  explicit FixPass(const rewrite::ConvGraphOptions& options) : options_(options) {}

  Result<std::optional<std::string>> Run(std::string_view bytes) override {
    EF_TRY(std::unique_ptr<hlo::Module> module,
           hlo::ReadVerifiedProto(std::string(bytes), "the module being compiled"));
    rewrite::ConvGraphResult result = rewrite::ConvGraph(*module, options_);
    std::optional<std::string> rewritten;
    if (result.changed) {
      EF_CHECK_OK(hlo::Verify(*module));
      ChainStackFrames(*module);
      EF_TRY(rewritten, hlo::WriteProto(*module));
    }
    std::lock_guard lock(mutex_);
    std::ranges::move(result.rewritten, std::back_inserter(report_.rewritten));
    std::ranges::move(result.near_misses, std::back_inserter(report_.near_misses));
    return rewritten;
  }

  std::string Report() const override {
    std::lock_guard lock(mutex_);
    return Dump({{"rewritten", report_.rewritten}, {"near_misses", report_.near_misses}});
  }

 private:
  const rewrite::ConvGraphOptions options_;
  mutable std::mutex mutex_;
  FixReport report_;
};

}  // namespace

Way WayFor(const target::PluginVersion& version) {
  if (version >= target::PluginVersion{{0, 12}}) return Way::kUpstream;
  return version >= target::PluginVersion{{0, 10, 2}} ? Way::kHook : Way::kProgram;
}

rewrite::ConvGraphOptions OptionsForProgram(const target::Gpu& gpu, rewrite::Extent extent) {
  return {.extent = extent,
          .compute_capability = gpu.ComputeCapability(),
          .cudnn_version = gpu.CudnnVersion(),
          .cuda_version = {static_cast<int>(gpu.runtime_version[0]),
                           static_cast<int>(gpu.runtime_version[1])}};
}

std::optional<rewrite::ConvGraphOptions> OptionsFor(const target::PluginVersion& version,
                                                    const target::Gpu& gpu,
                                                    rewrite::Extent extent) {
  if (WayFor(version) == Way::kUpstream) {
    if (extent == rewrite::Extent::kAll) return std::nullopt;
    extent = rewrite::Extent::kHideOnly;
  }
  return OptionsForProgram(gpu, extent);
}

std::string Describe(const rewrite::ConvGraphOptions& options) { return Dump(options); }

Result<std::unique_ptr<pjrt::Pass>> MakeFixPass(const std::string& description) {
  EF_TRY(auto options, Parse<rewrite::ConvGraphOptions>(description, "the description of the fix"));
  return std::make_unique<FixPass>(options);
}

Result<FixReport> ParseReport(std::string_view text) {
  EF_TRY(Json json, Parse<Json>(text, "the report of the fix"));
  try {
    return FixReport{json.at("rewritten"), json.at("near_misses")};
  } catch (const Json::exception& error) {
    return Fail(fmt::format("the report of the fix lacks a part: {}", error.what()));
  }
}

}  // namespace eightfold::fix
