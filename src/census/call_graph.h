#ifndef EIGHTFOLD_CENSUS_CALL_GRAPH_H_
#define EIGHTFOLD_CENSUS_CALL_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hlo/module.h"

namespace eightfold::census {

// How often something runs per run of the module: a sum of products of known trip counts and loops
// whose trip count the compiler does not know.
struct Runs {
  struct Term {
    double count = 1;
    std::vector<const hlo::Instruction*> loops;  // `while` instructions of unknown trip count
  };
  std::vector<Term> terms;

  void Add(const Runs& other);
  Runs Times(double trips) const;
  Runs Times(const hlo::Instruction* loop) const;
  // The value with every unknown trip count taken as 1.
  double AtLeastOnce() const;
  bool IsExact() const;
  // "16", "1 + 4·n(while.5)".
  std::string ToString() const;
};

// How a computation is entered from another one.
enum class Via : uint8_t { kEntry, kCall, kWhileBody, kWhileCondition, kBranch, kAsync };

struct CallSite {
  const hlo::Instruction* instruction = nullptr;
  Via via = Via::kEntry;
  int branch = 0;  // of a conditional
};

// One computation that runs as such: not a fusion, not the combiner of a reduce, sort or scatter.
struct CallNode {
  const hlo::Computation* computation = nullptr;
  std::vector<CallSite> sites;  // everywhere it is entered from; empty for the entry
  Runs runs;
  // It runs only when a conditional takes its branch: `runs` counts the branch as taken.
  bool alternative = false;
  int depth = 0;  // nesting below the entry along the first site
};

class CallGraph {
 public:
  // The module must be verified: no recursion.
  explicit CallGraph(const hlo::Module& module);

  // Reachable computations, callers first, in program order below that.
  const std::vector<CallNode>& nodes() const { return nodes_; }
  // Null when `computation` does not run as such.
  const CallNode* Find(const hlo::Computation& computation) const;
  // Every instruction that calls `computation`, fusions and combiners included, reachable or not.
  const std::vector<CallSite>& AllSites(const hlo::Computation& computation) const {
    return all_sites_[computation.index];
  }

 private:
  std::vector<CallNode> nodes_;
  std::vector<int> node_of_;  // by computation index; -1: none
  std::vector<std::vector<CallSite>> all_sites_;
};

// The computations `instruction` enters and how; empty for fusions, reduces and the like.
std::vector<std::pair<const hlo::Computation*, CallSite>> Enters(
    const hlo::Instruction& instruction);

// The trip count that XLA recorded in a while's backend_config (`known_trip_count`); -1: not known.
int64_t KnownTripCount(const hlo::Instruction& loop);

}  // namespace eightfold::census

#endif  // EIGHTFOLD_CENSUS_CALL_GRAPH_H_
