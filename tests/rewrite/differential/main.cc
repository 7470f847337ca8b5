// rewrite_differential: our FP8 convolution rewrite against the stock compiler's on random modules.
// Differences are made small and printed; any ends it with status 1. CONTRIBUTING.md says how to
// run it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "compare.h"
#include "fix/fix_pass.h"
#include "pjrt/plugin.h"
#include "shrink.h"
#include "target/catalogue.h"

namespace eightfold::differential {
namespace {

struct Options {
  std::string stock_program;
  std::string plugin = "0.12.0.1";
  std::string target = "rtx5070";
  int modules = 300;
  uint64_t seed = 1;
  int most_differences = 3;
  bool compiled = false;
  std::string recipes;  // one module instead
};

// "1,2,3/4,5": two recipes.
std::vector<Recipe> ParseRecipes(const std::string& text) {
  std::vector<Recipe> recipes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '/');) {
    Recipe& recipe = recipes.emplace_back();
    std::istringstream numbers(part);
    for (std::string number; std::getline(numbers, number, ',');) {
      recipe.push_back(static_cast<uint32_t>(std::stoul(number)));
    }
  }
  return recipes;
}

std::string Spell(const std::vector<Recipe>& recipes) {
  std::vector<std::string> parts;
  for (const Recipe& recipe : recipes) parts.push_back(fmt::format("{}", fmt::join(recipe, ",")));
  return fmt::format("{}", fmt::join(parts, "/"));
}

// One module in eight has two to four computations.
std::vector<Recipe> RecipesOf(uint64_t seed, int index) {
  const uint64_t first = (seed << 32) + static_cast<uint64_t>(index) * 4;
  const int count = index % 8 == 7 ? 2 + index / 8 % 3 : 1;
  std::vector<Recipe> recipes;
  for (int i = 0; i < count; ++i) {
    recipes.push_back(RandomRecipe(first + static_cast<uint64_t>(i)));
  }
  return recipes;
}

void Print(const Difference& difference, const std::vector<Recipe>& recipes) {
  fmt::print("DIFFERENCE: {}\n--recipes {}\n== before\n{}\n== stock\n{}\n== ours\n{}\n\n",
             difference.what, Spell(recipes), difference.before, difference.stock, difference.ours);
  fflush(stdout);
}

Result<int> Differences(const Options& options) {
  EF_TRY(pjrt::Plugin plugin, pjrt::FindPlugin(options.plugin));
  EF_TRY(const target::Gpu* gpu, target::Find(options.target));
  const rewrite::ConvGraphOptions fix = fix::OptionsForProgram(*gpu, rewrite::Extent::kAll);
  StockRunner stock(
      options.stock_program, plugin, *gpu,
      options.compiled ? StockRunner::Extent::kWhole : StockRunner::Extent::kTwoPasses);
  StockRunner fixed(options.stock_program, plugin, *gpu, StockRunner::Extent::kWhole,
                    fix::Describe(fix));
  Comparison comparison(stock, fix, plugin.version >= target::PluginVersion{{0, 12, 0, 0}});
  auto compare = [&](const std::vector<Recipe>& recipes, Statistics* statistics) {
    return options.compiled ? CompareCompiled(stock, fixed, recipes[0], statistics)
                            : comparison.Run(recipes, statistics);
  };
  Statistics statistics;
  int differences = 0;
  const int modules = options.recipes.empty() ? options.modules : 1;
  for (int i = 0; i < modules && differences < options.most_differences; ++i) {
    std::vector<Recipe> recipes =
        options.recipes.empty() ? RecipesOf(options.seed, i) : ParseRecipes(options.recipes);
    EF_TRY(std::optional<Difference> found, compare(recipes, &statistics));
    if (!found) continue;
    ++differences;
    fmt::print(stderr, "module {}: {}; making it smaller\n", i, found->what);
    auto still = [&](const std::vector<Recipe>& smaller) {
      auto again = compare(smaller, nullptr);
      return again && *again && (*again)->what == found->what;
    };
    recipes = Shrink(std::move(recipes), still);
    EF_TRY(std::optional<Difference> smallest, compare(recipes, nullptr));
    Print(smallest ? *smallest : *found, recipes);
  }
  fmt::print(stderr, "the plugin ended {} times\n", stock.crashes());
  fmt::print("{} for {}, seed {}: {} differences\n\n{}\n", plugin.Name(), gpu->title, options.seed,
             differences, statistics.Table());
  for (const auto& [what, count] : statistics.refusals) {
    fmt::print(stderr, "{} times not compared: {}\n", count, what);
  }
  for (const auto& [what, count] : statistics.near_misses) {
    fmt::print(stderr, "{} times left alone: {}\n", count, what);
  }
  return differences;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Our FP8 convolution rewrite against the stock compiler's, on random modules");
  app.add_option("--stock-program", options.stock_program, "rewrite_differential_stock")
      ->required();
  app.add_option("--plugin", options.plugin, "version or path of the stock plugin");
  app.add_option("--target", options.target, "the GPU to compile for");
  app.add_option("--modules", options.modules, "how many modules");
  app.add_option("--seed", options.seed, "the same seed makes the same modules");
  app.add_option("--most", options.most_differences, "differences after which to stop");
  app.add_flag("--compiled", options.compiled,
               "compare what whole compiles call in the end, with the fix in the pass hook");
  app.add_option("--recipes", options.recipes, "this module instead, as printed");
  CLI11_PARSE(app, argc, argv);
  Result<int> differences = Differences(options);
  if (!differences) {
    fmt::print(stderr, "{}\n", differences.error().Format());
    return 2;
  }
  return *differences == 0 ? 0 : 1;
}

}  // namespace
}  // namespace eightfold::differential

int main(int argc, char** argv) { return eightfold::differential::Main(argc, argv); }
