#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

// hlo_bench FILE.pb|FILE.hlo [benchmark flags]: what reading, verifying and writing one file takes
// on one thread. The file is mapped and its pages touched before the clock starts.
namespace eightfold::bench {
namespace {

using Module = std::unique_ptr<hlo::Module>;

std::shared_ptr<const Source> g_source;
bool g_is_proto = false;

Result<Module> Read() { return g_is_proto ? hlo::ReadProto(g_source) : hlo::ReadText(g_source); }

// Stops the benchmark with the error's text.
template <class T>
bool Check(benchmark::State& state, const Result<T>& result) {
  if (!result) state.SkipWithError(result.error().Format().c_str());
  return result.has_value();
}

void SetRate(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void BM_Read(benchmark::State& state) {
  for (auto _ : state) {
    auto module = Read();
    if (!Check(state, module)) return;
    // Giving the memory back is not part of reading.
    state.PauseTiming();
    module->reset();
    state.ResumeTiming();
  }
  SetRate(state, g_source->bytes().size());
}

void BM_Verify(benchmark::State& state) {
  auto module = Read();
  if (!Check(state, module)) return;
  for (auto _ : state) {
    if (!Check(state, hlo::Verify(**module))) return;
  }
  SetRate(state, g_source->bytes().size());
}

template <class Write>
void RunWrite(benchmark::State& state, Write write) {
  auto module = Read();
  if (!Check(state, module)) return;
  size_t bytes = 0;
  for (auto _ : state) {
    auto out = write(**module);
    if (!Check(state, out)) return;
    bytes = out->size();
  }
  SetRate(state, bytes);
}

void BM_WriteProto(benchmark::State& state) {
  RunWrite(state, [](const hlo::Module& module) { return hlo::WriteProto(module); });
}
void BM_WriteText(benchmark::State& state) {
  RunWrite(state, [](const hlo::Module& module) { return hlo::WriteText(module); });
}

BENCHMARK(BM_Read)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_WriteProto)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_WriteText)->Unit(benchmark::kMillisecond);

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    fmt::print(stderr, "usage: hlo_bench FILE.pb|FILE.hlo [benchmark flags]\n");
    return 2;
  }
  std::string path = argv[1];
  auto source = Source::Open(path);
  if (!source) {
    fmt::print(stderr, "{}\n", source.error().Format());
    return 1;
  }
  g_source = *source;
  g_is_proto = path.ends_with(".pb");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace eightfold::bench

int main(int argc, char** argv) { return eightfold::bench::Main(argc, argv); }
