#ifndef EIGHTFOLD_TESTS_REWRITE_MODULES_H_
#define EIGHTFOLD_TESTS_REWRITE_MODULES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "hlo/module.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"
#include "rewrite/conv_graph.h"

namespace eightfold::rewrite {

// The module that `text` spells; it must be right.
inline std::unique_ptr<hlo::Module> Parse(std::string text) {
  auto module = hlo::ReadText(Source::FromBytes("test.hlo", std::move(text)));
  if (!module) {
    ADD_FAILURE() << module.error().Format();
    return std::make_unique<hlo::Module>();
  }
  auto verified = hlo::Verify(**module);
  EXPECT_TRUE(verified) << verified.error().Format();
  return std::move(*module);
}

// A module whose entry has FP8 values x and w (16 channels, 3x3 filter), their conversions cx and
// cw, scalars s, a and b, a tensor t, broadcasts of s (bs), 0 (b0) and 6 (b6), the bounds of
// f8e4m3fn (lo, hi) and a reducer `max`; and then `body`, with $T for the tensor's type and CONV
// for the convolution's attributes.
inline std::string WithPrelude(std::string body) {
  std::string text = R"(HloModule m

max {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT m = f32[] maximum(l, r)
}

ENTRY main {
  x = f8e4m3fn[2,6,6,16] parameter(0)
  w = f8e4m3fn[3,3,16,16] parameter(1)
  s = f32[] parameter(2)
  t = $T parameter(3)
  a = f32[] parameter(4)
  b = f32[] parameter(5)
  cx = $T convert(x)
  cw = f32[3,3,16,16] convert(w)
  bs = $T broadcast(s), dimensions={}
  zero = f32[] constant(0)
  b0 = $T broadcast(zero), dimensions={}
  six = f32[] constant(6)
  b6 = $T broadcast(six), dimensions={}
  low = f32[] constant(-448)
  lo = $T broadcast(low), dimensions={}
  high = f32[] constant(448)
  hi = $T broadcast(high), dimensions={}
)" + std::move(body) +
                     "}\n";
  auto replace = [&](std::string_view what, std::string_view by) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
      text.replace(at, what.size(), by);
    }
  };
  replace("$T", "f32[2,6,6,16]");
  replace("CONV", "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
  return text;
}

// What plugin 0.10.2 has for an RTX 5070.
inline ConvGraphOptions Options(Extent extent = Extent::kPlanned) {
  return {.extent = extent,
          .compute_capability = {12, 0},
          .cudnn_version = {9, 10, 0},
          .cuda_version = {12, 8}};
}

// Rewrites, and checks that the module is right afterwards.
inline ConvGraphResult Rewrite(hlo::Module& module, const ConvGraphOptions& options = Options()) {
  ConvGraphResult result = ConvGraph(module, options);
  auto verified = hlo::Verify(module);
  EXPECT_TRUE(verified) << verified.error().Format();
  return result;
}

inline std::string Print(const hlo::Module& module) {
  auto text = hlo::WriteText(module);
  if (text) return *text;
  ADD_FAILURE() << text.error().Format();
  return {};
}

// How often `what` occurs in the module's text.
inline int Count(const hlo::Module& module, std::string_view what) {
  std::string text = Print(module);
  int count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

// The graph call that is the `nth` in the module's order; null when there are not as many.
inline const hlo::Instruction* GraphCall(const hlo::Module& module, int nth = 0) {
  for (const hlo::Computation* computation : module.computations) {
    for (const hlo::Instruction* i : computation->instructions) {
      if (i->custom_call_target() == "__cudnn$convForwardGraph" && nth-- == 0) return i;
    }
  }
  return nullptr;
}

// The serialized graph of a call, "" for null.
inline std::string Graph(const hlo::Instruction* call) {
  constexpr std::string_view kKey = "\"serialized_graph\":\"";
  if (call == nullptr) return {};
  std::string_view config = call->backend_config;
  size_t from = config.find(kKey);
  if (from == config.npos) return {};
  from += kKey.size();
  return std::string(config.substr(from, config.find('"', from) - from));
}

// The names of a call's operands, separated by spaces.
inline std::string Operands(const hlo::Instruction* call) {
  std::string names;
  if (call == nullptr) return names;
  for (const hlo::Instruction* operand : call->operands) {
    names += (names.empty() ? "" : " ") + std::string(operand->name);
  }
  return names;
}

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_TESTS_REWRITE_MODULES_H_
