// Writes a module with every formula of selfplay/ops.h and rng.h to standard output as a
// HloModuleProto: ops_oracle_test.py lets XLA run it beside jax.numpy and jax.random.
#include <cstdio>
#include <vector>

#include "../hlo/print_proto.h"
#include "hlo/builder.h"
#include "selfplay/ops.h"
#include "selfplay/rng.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kS32 = PrimitiveType::kS32;
constexpr auto kU32 = PrimitiveType::kU32;

// The order is that of `expected_ops` in ops_oracle_test.py.
void AddOps(Builder& b, std::vector<Instruction*>& results) {
  Instruction* x = b.Parameter(0, b.Array(kF32, {4, 7}), "x");
  Instruction* n = b.Parameter(1, b.Array(kS32, {4, 7}), "n");
  Instruction* row = b.Parameter(2, b.Array(kS32, {4}), "row");
  Instruction* columns = b.Parameter(3, b.Array(kS32, {4, 3}), "columns");
  Instruction* cube = b.Parameter(4, b.Array(kF32, {4, 7, 2}), "cube");
  Instruction* page = b.Parameter(5, b.Array(kF32, {4, 2}), "page");
  Instruction* positive = b.Greater(x, b.ZerosLike(x));
  for (int64_t dimension : {-1, 0}) {
    for (auto formula : {Sum, Mean, Max, Min, CumSum, Softmax, LogSoftmax, ArgMax}) {
      results.push_back(formula(b, x, dimension));
    }
    for (auto formula : {Sum, Max, Min, CumSum, ArgMax}) {
      results.push_back(formula(b, n, dimension));
    }
    results.push_back(Any(b, positive, dimension));
    results.push_back(All(b, positive, dimension));
  }
  results.push_back(OneHot(b, row, 5, kF32));
  TopKResult top = TopK(b, Where(b, b.Equal(x, x), x, b.Constant(kF32, 0)), 4);  // no NaN
  results.push_back(top.values);
  results.push_back(top.indices);
  results.push_back(Clip(b, x, -0.5, 0.75));
  results.push_back(Where(b, b.Greater(row, b.Like(row, 2)), x, b.Constant(kF32, 9)));
  results.push_back(Where(b, positive, x, b.Convert(row, kF32)));
  Instruction* any = Any(b, b.Greater(row, b.Like(row, 5)));
  results.push_back(Where(b, any, x, b.Negate(x)));
  results.push_back(BatchGather(b, x, row));
  results.push_back(BatchGather(b, cube, row));
  results.push_back(TakeAlong(b, x, columns));
  results.push_back(BatchUpdate(b, cube, row, page));
}

// The order is that of `expected_random`.
void AddRandom(Builder& b, Instruction* key, std::vector<Instruction*>& results) {
  Instruction* data = b.Parameter(7, b.Array(kS32, {}), "data");
  std::vector<int64_t> dims = {3, 5, 7};
  Instruction* keys = SplitKey(b, key, 3);
  results.push_back(keys);
  results.push_back(FoldIn(b, key, data));
  results.push_back(RandomBits(b, key, dims));
  results.push_back(RandomBits(b, key, {}));
  results.push_back(Uniform(b, key, dims));
  results.push_back(Uniform(b, key, dims, -2, 3));
  results.push_back(Gumbel(b, key, dims));
  // The host's Threefry, too.
  Key folded = Threefry(KeyOf(123456789012345), {0, 77});
  std::vector<double> words = {double(folded[0]), double(folded[1])};
  std::vector<int64_t> two = {2};
  results.push_back(b.ConstantArray(kU32, two, words));
}

// Samples that ops_oracle_test.py compares with their distribution.
void AddSamples(Builder& b, Instruction* key, std::vector<Instruction*>& results) {
  std::vector<int64_t> dims = {4000, 5};
  results.push_back(Normal(b, key, dims));
  results.push_back(LogGamma(b, key, dims, 0.3));
  results.push_back(LogGamma(b, key, dims, 2.5));
  results.push_back(Dirichlet(b, key, dims, 0.3));
}

int Run() {
  hlo::Module module;
  module.name = "ops";
  Builder b(module, "main");
  std::vector<Instruction*> results;
  AddOps(b, results);
  Instruction* key = b.Parameter(6, b.Array(kU32, {2}), "key");
  AddRandom(b, key, results);
  AddSamples(b, key, results);
  module.entry = b.Build(b.Tuple(results));
  return hlo::PrintProto(module);
}

}  // namespace
}  // namespace eightfold::selfplay

int main() { return eightfold::selfplay::Run(); }
