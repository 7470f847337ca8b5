#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_COMPARE_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_COMPARE_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate.h"
#include "hlo/module.h"
#include "rewrite/conv_graph.h"
#include "stock.h"

namespace eightfold::differential {

// What the modules compared so far held.
struct Statistics {
  int modules = 0;
  int several_computations = 0;  // modules with more than one
  int refused = 0;               // stock gave an error before or in the rewrite: not compared
  int left_out = 0;              // stock adds a value to itself: see compare.cc
  int other_order = 0;           // see CompareCompiled
  std::map<std::string, int> refusals;
  int computed_twice = 0;                   // computations compared by calls only: compare.cc
  int convolutions = 0;                     // in the modules as made
  std::map<std::string, int> cudnn_calls;   // by target, before the rewrite
  int rewritten = 0;                        // graph calls after it
  std::map<std::string, int> operations;    // in their graphs
  std::map<std::string, int> result_types;  // of their tensors
  std::map<std::string, int> near_misses;   // that ours reports, numbers and names left out

  // Markdown, without what was not counted.
  std::string Table() const;
};

// A difference between stock's rewrite and ours.
struct Difference {
  std::string what;
  std::string before, stock, ours;  // text, empty where it does not apply
};

// Compares the two on the module of `recipes`, in three ways: ours on stock's dump before the
// rewrite, whole computations; ours on the module as made, with plain convolutions, by the calls;
// and, with several recipes, ours on all computations at once against stock on each alone.
class Comparison {
 public:
  // `fuses_others`: stock goes on to the convolutions that are not FP8 after its rewrite, as it
  // does from 0.12.0 on.
  Comparison(StockRunner& stock, const rewrite::ConvGraphOptions& options, bool fuses_others)
      : stock_(stock), options_(options), fuses_others_(fuses_others) {}

  // Nothing: no difference. `statistics` may be null. Errors: stock cannot be run at all.
  Result<std::optional<Difference>> Run(std::span<const Recipe> recipes, Statistics* statistics);

 private:
  StockRunner& stock_;
  rewrite::ConvGraphOptions options_;
  bool fuses_others_;
};

// Compares what the whole compile of a module calls in the end without the fix (`stock`) and with
// it
// (`fixed`): the graphs of its graph calls. For one recipe, since stock alone loses what is in
// other computations.
Result<std::optional<Difference>> CompareCompiled(StockRunner& stock, StockRunner& fixed,
                                                  const Recipe& recipe, Statistics* statistics);

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_COMPARE_H_
