// device_move PLATFORM PLUGIN TARGET PROGRAMS RUNS: times one policy move (move_bf16.pb and move.pb
// in the folder PROGRAMS) in bf16, in FP8 as the stock plugin compiles it, and in FP8 with the fix,
// and compares what the two FP8 programs answer. Prints JSON.
//
// PLATFORM cuda: the fix is the pass hook inside the plugin. cpu: nothing runs cuDNN's calls there,
// so the fixed program is what the rewrite makes of it, expanded again (numbers, not speed).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "../must.h"
#include "base/source.h"
#include "fix/fix_pass.h"
#include "hlo/proto/proto.h"
#include "pjrt/buffer.h"
#include "pjrt/client.h"
#include "pjrt/execute.h"
#include "pjrt/pass_hook.h"
#include "rewrite/expand.h"
#include "target/catalogue.h"

namespace eightfold {
namespace {

using Json = nlohmann::ordered_json;
using hlo::PrimitiveType;

// Weights of a few per cent, scales of one eighth, boards of zeros and ones: the same for each
// program, whatever type it wants them in.
std::vector<std::byte> Fill(const pjrt::Signature::Parameter& parameter, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.f, 0.05f);
  const pjrt::ArrayShape& shape = parameter.shape;
  std::vector<std::byte> bytes(shape.bytes());
  auto put = [&](auto make) {
    using Value = decltype(make());
    for (size_t at = 0; at < bytes.size(); at += sizeof(Value)) {
      const Value value = make();
      std::memcpy(bytes.data() + at, &value, sizeof(Value));
    }
  };
  switch (shape.type) {
    case PrimitiveType::kF32:
      if (shape.dims.empty()) {
        put([] { return 0.125f; });
      } else if (shape.dims.size() == 4) {
        put([&] { return (random() & 1) != 0 ? 1.f : 0.f; });
      } else {
        put([&] { return normal(random); });
      }
      break;
    case PrimitiveType::kBF16:
      put([&] { return static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16); });
      break;
    case PrimitiveType::kF8E4M3FN:  // up to 2: weights that were scaled by their maximum
      put([&] { return static_cast<uint8_t>((random() & 0x80) | (random() % 0x41)); });
      break;
    default:
      put([&] { return static_cast<uint8_t>(random()); });
  }
  return bytes;
}

struct Measured {
  double compile_seconds = 0;
  std::vector<double> milliseconds;
  std::vector<int32_t> actions;
  std::vector<float> weights;
};

Measured Measure(const pjrt::Client& client, const std::string& program, int runs) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Measured measured;
  auto start = Clock::now();
  auto executable = Must(pjrt::LoadedExecutable::Compile(client, program));
  measured.compile_seconds = since(start);
  std::vector<pjrt::Buffer> arguments;
  uint32_t seed = 1;
  for (const auto& parameter : executable.signature().parameters) {
    const std::vector<std::byte> bytes = Fill(parameter, seed++);
    arguments.push_back(Must(pjrt::Buffer::FromHost(client, parameter.shape, bytes)));
  }
  constexpr int kWarmUps = 2;
  for (int run = 0; run < runs + kWarmUps; ++run) {
    start = Clock::now();
    std::vector<pjrt::Buffer> results = Must(executable.Execute(arguments));
    for (const pjrt::Buffer& result : results) Must(result.Await());
    if (run >= kWarmUps) measured.milliseconds.push_back(1e3 * since(start));
    measured.actions = Must(results[0].ToHost<int32_t>());
    measured.weights = Must(results[1].ToHost<float>());
  }
  std::ranges::sort(measured.milliseconds);
  return measured;
}

Json Row(const char* name, const Measured& measured) {
  const auto& times = measured.milliseconds;
  return {{"program", name},
          {"compile_s", measured.compile_seconds},
          {"runs", times.size()},
          {"median_ms", times[times.size() / 2]},
          {"fastest_ms", times.front()},
          {"slowest_ms", times.back()}};
}

Json Agreement(const Measured& a, const Measured& b) {
  size_t same = 0;
  for (size_t i = 0; i < a.actions.size(); ++i) same += a.actions[i] == b.actions[i] ? 1 : 0;
  double worst = 0;
  for (size_t i = 0; i < a.weights.size(); ++i) {
    worst = std::max(worst, static_cast<double>(std::fabs(a.weights[i] - b.weights[i])));
  }
  return {{"games", a.actions.size()}, {"same_action", same}, {"largest_weight_difference", worst}};
}

std::string Expanded(const std::string& program, const rewrite::ConvGraphOptions& options) {
  auto module = Must(hlo::ReadProto(Source::FromBytes("the program", program)));
  rewrite::ConvGraph(*module, options);
  Must(rewrite::Expand(*module));
  return Must(hlo::WriteProto(*module));
}

int Main(const std::string& platform, const std::string& plugin_spec, const std::string& target,
         const std::string& programs, int runs) {
  const bool cuda = platform == "cuda";
  auto plugin = Must(cuda ? pjrt::FindPlugin(plugin_spec) : pjrt::FindCpuPlugin());
  auto client =
      Must(pjrt::Client::Create(plugin, cuda ? pjrt::Platform::kCuda : pjrt::Platform::kCpu));
  const target::Gpu& gpu = *Must(target::Find(target));
  auto options = fix::OptionsForProgram(gpu, rewrite::Extent::kPlanned);
  const std::string bf16(Must(Source::Open(programs + "/move_bf16.pb"))->bytes());
  const std::string fp8(Must(Source::Open(programs + "/move.pb"))->bytes());

  Json rows = Json::array();
  rows.push_back(Row("bf16", Measure(client, bf16, runs)));
  const Measured stock = Measure(client, fp8, runs);
  rows.push_back(Row("fp8, stock", stock));
  std::shared_ptr<pjrt::Pass> pass = Must(fix::MakeFixPass(fix::Describe(options)));
  std::optional<pjrt::PassHook> hook;
  if (cuda) {
    hook.emplace(Must(
        pjrt::PassHook::Register(client.api(), "eightfold", pjrt::Stage::kPreScheduler, pass)));
  }
  const Measured fixed = Measure(client, cuda ? fp8 : Expanded(fp8, options), runs);
  rows.push_back(Row(cuda ? "fp8, fixed" : "fp8, fixed and expanded", fixed));
  Json out = {{"plugin", plugin.Name()},
              {"device", client.device_kind()},
              {"rows", std::move(rows)},
              {"fixed_against_stock", Agreement(stock, fixed)}};
  if (hook) {
    out["rewritten"] = Must(fix::ParseReport(pass->Report())).rewritten.size();
    out["pass_seconds"] = hook->counts().seconds;
    if (auto error = hook->first_error()) out["pass_error"] = error->what;
  }
  fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace
}  // namespace eightfold

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: device_move cpu|cuda PLUGIN TARGET PROGRAMS RUNS\n");
    return 2;
  }
  return eightfold::Main(argv[1], argv[2], argv[3], argv[4], std::max(1, std::atoi(argv[5])));
}
