// What bench/selfplay/run needs of C++:
//
// selfplay_bench build forward|move|game_move PRECISION BATCH WIDTH BLOCKS SIMULATIONS OUTPUT
//   Writes a program made for CPUs. `move` searches in the stand-in
//   game of tests/data/programs/programs.py, from an observation f32[B,6,6,3]; `game_move` is
//   BuildPolicyMove of othello6.
// selfplay_bench run PROGRAM ARGUMENTS
//   Compiles PROGRAM for the CPU. ARGUMENTS is a safetensors file; in the order of their names its
//   tensors are the arguments. Then, for each line of standard input, `time` runs the program and
//   prints processor seconds (of all threads) and wall seconds; `save FILE` runs it and writes its
//   results as tensors "000", "001" …
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "../must.h"
#include "base/source.h"
#include "hlo/proto/proto.h"
#include "hlo/verifier.h"
#include "pjrt/buffer.h"
#include "pjrt/execute.h"
#include "pjrt/fetch.h"
#include "selfplay/loop.h"
#include "selfplay/ops.h"
#include "selfplay/programs.h"
#include "selfplay/rng.h"
#include "selfplay/safetensors.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr auto kF32 = PrimitiveType::kF32;
constexpr int64_t kSide = 6;
constexpr int64_t kCells = kSide * kSide;

// The stand-in game: any of 36 cells takes a stone, then the sides swap.
NetworkOptions StandInNetwork(const ProgramOptions& options) {
  NetworkOptions network = NetworkOf(options);
  network.actions = kCells;
  return network;
}

Instruction* Place(Builder& b, Instruction* observation, Instruction* action) {
  int64_t batch = observation->shape->dims[0];
  Instruction* board = b.Reshape(observation, {batch, kCells, 3});
  auto plane = [&](int64_t i) { return b.Slice(board, {{0, batch}, {0, kCells}, {i, i + 1}}); };
  Instruction* stone = b.Reshape(OneHot(b, action, kCells, kF32), {batch, kCells, 1});
  Instruction* own = Clip(b, b.Add(plane(0), stone), 0, 1);
  Instruction* player = b.Subtract(b.Like(stone, 1), plane(2));
  return b.Reshape(b.Concatenate({plane(1), own, player}, 2), {batch, kSide, kSide, 3});
}

void BuildStandInMove(hlo::Module& module, const ProgramOptions& options) {
  module.name = "move";
  Builder b(module, "main");
  const NetworkOptions network = StandInNetwork(options);
  Values parameters = DeclareParameters(b, network);
  auto number = static_cast<int64_t>(parameters.size());
  Instruction* key = b.Parameter(number, b.Array(PrimitiveType::kU32, {2}), "key");
  Instruction* observation =
      b.Parameter(number + 1, b.Array(kF32, {options.batch, kSide, kSide, 3}), "observation");
  Model model{.actions = kCells, .weights = parameters};
  model.step = [](Builder& in, const Values&, Instruction* action, Instruction* state) {
    Instruction* zeros = in.Zeros(kF32, {state->shape->dims[0]});
    return Transition{zeros, in.Like(zeros, -1), Place(in, state, action)};
  };
  model.predict = [network](Builder& in, const Values& weights, Instruction* state) {
    return Network(in, network, weights, state);
  };
  // As mctx does it: the second of two keys is that of the noise.
  Instruction* noise_key = b.Reshape(b.Slice(SplitKey(b, key, 2), {{1, 2}, {0, 2}}), {2});
  int64_t dims[] = {options.batch, kCells};
  SearchResult r = GumbelMuZero(b, model, observation, {.simulations = options.simulations},
                                {.gumbel = Gumbel(b, noise_key, dims)});
  module.entry = b.Build(b.Tuple({r.action, r.action_weights, r.value}));
}

void BuildStandInForward(hlo::Module& module, const ProgramOptions& options) {
  module.name = "forward";
  Builder b(module, "main");
  const NetworkOptions network = StandInNetwork(options);
  Values parameters = DeclareParameters(b, network);
  Instruction* observation =
      b.Parameter(static_cast<int64_t>(parameters.size()),
                  b.Array(kF32, {options.batch, kSide, kSide, 3}), "observation");
  Prediction p = Network(b, network, parameters, observation);
  module.entry = b.Build(b.Tuple({p.logits, p.value}));
}

int BuildProgram(const std::vector<std::string>& words) {
  if (words.size() != 7) return 2;
  auto number = [&](size_t i) { return std::atoll(words[i].c_str()); };
  ProgramOptions options{.game = FindGame("othello6"),
                         .batch = number(2),
                         .width = number(3),
                         .blocks = number(4),
                         .simulations = number(5)};
  for (Precision precision : {Precision::kF32, Precision::kBf16, Precision::kFp8}) {
    if (words[1] == Name(precision)) options.precision = precision;
  }
  options = ForCpu(options);
  hlo::Module module;
  if (words[0] == "forward") {
    BuildStandInForward(module, options);
  } else if (words[0] == "move") {
    BuildStandInMove(module, options);
  } else {
    BuildPolicyMove(module, options);
  }
  Must(hlo::Verify(module));
  Must(WriteFile(words[6], Must(hlo::WriteProto(module))));
  return 0;
}

class Runner {
 public:
  Runner(const std::string& program, const std::string& arguments)
      : client_(MakeClient()), executable_(Compile(program)) {
    std::vector<Tensor> tensors = Must(ReadTensors(arguments)).tensors;
    std::ranges::sort(tensors, {}, &Tensor::name);
    for (const Tensor& tensor : tensors) {
      arguments_.push_back(Must(pjrt::Buffer::FromHost(
          client_, {tensor.type, tensor.dims},
          std::as_bytes(std::span(tensor.bytes.data(), tensor.bytes.size())))));
    }
  }

  void Time() {
    const double cpu = ProcessSeconds();
    const auto start = std::chrono::steady_clock::now();
    for (const pjrt::Buffer& result : Execute()) Must(result.Await());
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    fmt::print("{} {}\n", ProcessSeconds() - cpu, wall.count());
    std::fflush(stdout);
  }

  void Save(const std::string& path) {
    TensorFile file;
    for (const pjrt::Buffer& result : Execute()) {
      Tensor tensor{.name = fmt::format("{:03}", file.tensors.size()),
                    .type = result.shape().type,
                    .dims = result.shape().dims,
                    .bytes = std::string(result.shape().bytes(), '\0')};
      Must(result.ToHost(
          std::as_writable_bytes(std::span(tensor.bytes.data(), tensor.bytes.size()))));
      file.tensors.push_back(std::move(tensor));
    }
    Must(WriteTensors(path, file));
    fmt::print("saved\n");
    std::fflush(stdout);
  }

 private:
  static pjrt::Client MakeClient() {
    Result<pjrt::Plugin> plugin = pjrt::FindCpuPlugin();
    if (!plugin) plugin = pjrt::FetchCpuPlugin(nullptr);
    return Must(pjrt::Client::Create(Must(std::move(plugin)), pjrt::Platform::kCpu));
  }
  pjrt::LoadedExecutable Compile(const std::string& program) const {
    auto source = Must(Source::Open(program));
    return Must(pjrt::LoadedExecutable::Compile(client_, source->bytes()));
  }
  static double ProcessSeconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  std::vector<pjrt::Buffer> Execute() const { return Must(executable_.Execute(arguments_)); }

  pjrt::Client client_;
  pjrt::LoadedExecutable executable_;
  std::vector<pjrt::Buffer> arguments_;
};

int RunProgram(const std::vector<std::string>& words) {
  if (words.size() != 2) return 2;
  Runner runner(words[0], words[1]);
  fmt::print("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "time") {
      runner.Time();
    } else if (line.starts_with("save ")) {
      runner.Save(line.substr(5));
    } else {
      return 2;
    }
  }
  return 0;
}

int Main(std::vector<std::string> words) {
  const std::string command = words.empty() ? "" : words[0];
  if (!words.empty()) words.erase(words.begin());
  int code = 2;
  if (command == "build") code = BuildProgram(words);
  if (command == "run") code = RunProgram(words);
  if (code == 2) fmt::print(stderr, "error: the head of selfplay_bench.cc says how it is called\n");
  return code;
}

}  // namespace
}  // namespace eightfold::selfplay

int main(int argc, char** argv) { return eightfold::selfplay::Main({argv + 1, argv + argc}); }
