#ifndef EIGHTFOLD_FIX_FIX_PASS_H_
#define EIGHTFOLD_FIX_FIX_PASS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pjrt/pass.h"
#include "rewrite/conv_graph.h"
#include "target/gpu.h"
#include "target/plugin_version.h"

// How the rewrite reaches a compiler plugin: rewrite::ConvGraph as a pass over serialized modules,
// and what the parts of a fix that run in different processes tell each other.
namespace eightfold::fix {

// How a plugin is made to run FP8 convolutions that it would lose.
enum class Way {
  kHook,      // the rewrite runs inside the plugin, through its transform extension
  kProgram,   // the plugin has no such extension: the program is rewritten before it is compiled
  kUpstream,  // XLA rewrites all by itself; only convolutions without a cuDNN plan are hidden
};
// Of a jax-cuda*-pjrt release: the extension came with 0.10.2, the repair with 0.12.0.
Way WayFor(const target::PluginVersion& version);

// What to rewrite in a program for `gpu`, whatever compiles it.
rewrite::ConvGraphOptions OptionsForProgram(const target::Gpu& gpu, rewrite::Extent extent);

// What to rewrite when compiling for `gpu` with `version` of the plugin. Nothing when that XLA
// takes all that `extent` asks for by itself.
std::optional<rewrite::ConvGraphOptions> OptionsFor(const target::PluginVersion& version,
                                                    const target::Gpu& gpu, rewrite::Extent extent);

// What a pass did, over all modules that it saw.
struct FixReport {
  std::vector<rewrite::Rewritten> rewritten;
  std::vector<rewrite::NearMiss> near_misses;
};

// `options` as text that MakeFixPass takes (pjrt::CompileRequest::pass).
std::string Describe(const rewrite::ConvGraphOptions& options);

// rewrite::ConvGraph as a pass; its Report() is for ParseReport. Error: `description` is not one of
// Describe's.
Result<std::unique_ptr<pjrt::Pass>> MakeFixPass(const std::string& description);

// Error: `text` is not what the pass of MakeFixPass reports.
Result<FixReport> ParseReport(std::string_view text);

}  // namespace eightfold::fix

#endif  // EIGHTFOLD_FIX_FIX_PASS_H_
