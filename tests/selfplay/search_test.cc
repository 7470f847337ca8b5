#include "selfplay/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "hlo/verifier.h"
#include "selfplay/gumbel.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kF32 = PrimitiveType::kF32;

// Sections of "Almost Optimal Exploration in Multi-Armed Bandits", by hand.
TEST(ConsideredVisits, HalvesTheActionsAndKeepsTwo) {
  EXPECT_THAT(ConsideredVisits(4, 8), ElementsAre(0, 0, 0, 0, 1, 1, 2, 2));
  EXPECT_THAT(ConsideredVisits(4, 16), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
  EXPECT_THAT(ConsideredVisits(3, 7), ElementsAre(0, 0, 0, 1, 1, 2, 2));
}

TEST(ConsideredVisits, OfOneActionOrNoneVisitsItEveryTime) {
  EXPECT_THAT(ConsideredVisits(1, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(ConsideredVisits(0, 3), ElementsAre(0, 1, 2));
}

TEST(ConsideredVisits, EndsInThePhaseThatSimulationsRunOutIn) {
  EXPECT_THAT(ConsideredVisits(16, 5), ElementsAre(0, 0, 0, 0, 0));
}

// Counts how often its functions are built.
struct CountingModel {
  int steps = 0, predictions = 0;

  Model Make(int64_t actions) {
    Model model{.actions = actions};
    model.step = [this](Builder& b, const Values&, Instruction*, Instruction* from) {
      ++steps;
      Instruction* reward = b.Zeros(kF32, {from->shape->dims[0]});
      return Transition{reward, b.Like(reward, -1), from};
    };
    model.predict = [this, actions](Builder& b, const Values&, Instruction* from) {
      ++predictions;
      int64_t batch = from->shape->dims[0];
      return Prediction{b.Zeros(PrimitiveType::kBF16, {batch, actions}), b.Zeros(kF32, {batch})};
    };
    return model;
  }
};

class SearchTest : public testing::Test {
 protected:
  SearchTest() : b_(module_, "main"), root_(b_.Parameter(0, b_.Array(kF32, {3, 2}), "root")) {}

  void Finish(std::vector<SearchResult> results) {
    Values all;
    for (const SearchResult& r : results) {
      for (Instruction* x : {r.action, r.action_weights, r.value, r.visit_counts, r.qvalues}) {
        all.push_back(x);
      }
    }
    module_.entry = b_.Build(b_.Tuple(all));
    auto verdict = hlo::Verify(module_);
    EXPECT_TRUE(verdict) << verdict.error().Format();
  }

  hlo::Module module_;
  Builder b_;
  Instruction* root_;
  CountingModel counting_;
};

TEST_F(SearchTest, BuildsTheNetworkTwice) {
  Finish({GumbelMuZero(b_, counting_.Make(5), root_, {})});
  EXPECT_EQ(counting_.predictions, 2);
  EXPECT_EQ(counting_.steps, 1);
}

TEST_F(SearchTest, BuildsTheNetworkOnceWithTheRootInTheLoop) {
  Finish({GumbelMuZero(b_, counting_.Make(5), root_, {.root_in_loop = true})});
  EXPECT_EQ(counting_.predictions, 1);
  EXPECT_EQ(counting_.steps, 1);
}

TEST_F(SearchTest, SeveralSearchesFitInOneModule) {
  Model model = counting_.Make(1);
  Finish({GumbelMuZero(b_, model, root_, {.simulations = 1}), MuZero(b_, model, root_, {}),
          MuZero(b_, model, root_, {.max_depth = 2})});
}

TEST_F(SearchTest, RefusesOptionsWithoutSense) {
  auto refuses = [&](const Model& model, const SearchOptions& options, const char* why) {
    try {
      GumbelMuZero(b_, model, root_, options);
      FAIL() << why;
    } catch (const std::logic_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  refuses(counting_.Make(5), {.simulations = 0}, "at least one simulation");
  refuses(counting_.Make(5), {.max_depth = -1}, "negative max_depth");
  refuses(counting_.Make(0), {}, "a model without actions");
}

}  // namespace
}  // namespace eightfold::selfplay
