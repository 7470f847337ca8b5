// The verifier over the files of tests/data: what XLA makes is clean, what XLA's verifier would
// refuse is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

namespace eightfold::hlo {
namespace {

namespace fs = std::filesystem;

// In tests/data/text_cases, jaxlib's parser takes these although they are wrong.
const std::map<std::string, std::string> kAcceptedButWrong = {
    // %w2: (8-1)·2+1 + 3+3 = 21 positions, a window of (3-1)·2+1 = 5, stride 3: 6, not 5. jaxlib
    // infers f32[1,6,6,2] as well when the shape is left out.
    {"016_window_ops.hlo", "its operands make reduce-window a f32[1,6,6,2]"},
};

// In tests/data/bad_cases, jaxlib's parser takes these and its verifier would not.
const std::set<std::string> kRefusedThoughXlaParsesThem = {
    "10_shape_mismatch_elementwise", "11_type_mismatch_operands", "40_product_overflow",
    "43_layout_not_permutation",     "56_gte_index_out_of_range", "59_header_layout_mismatch",
    "71_while_body_wrong_shape"};

std::vector<fs::path> Files(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(EIGHTFOLD_TESTDATA) / folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  return files;
}

// The message of reading or verifying `path`; "" when both succeed.
std::string Complaint(const fs::path& path) {
  auto source = Source::Open(path.string());
  if (!source) return source.error().Format();
  auto module = path.extension() == ".pb" ? ReadProto(*source) : ReadText(*source);
  if (!module) return module.error().Format();
  auto verdict = Verify(**module);
  return verdict ? "" : verdict.error().Format();
}

TEST(VerifyCorpusTest, EveryProgramIsClean) {
  size_t seen = 0;
  for (const char* folder : {"programs", "reports"}) {
    for (const fs::path& path : Files(folder, ".pb")) {
      EXPECT_EQ(Complaint(path), "") << path;
      ++seen;
    }
  }
  EXPECT_GT(seen, 60);
}

TEST(VerifyCorpusTest, AnOptimizedModuleIsClean) {
  EXPECT_EQ(Complaint(fs::path(EIGHTFOLD_TESTDATA) / "../../bench/move_optimized.pb"), "");
}

TEST(VerifyCorpusTest, EveryTextCaseIsCleanButTheDocumentedOnes) {
  size_t seen = 0;
  for (const fs::path& path : Files("text_cases", ".hlo")) {
    ++seen;
    auto wrong = kAcceptedButWrong.find(path.filename().string());
    if (wrong == kAcceptedButWrong.end()) {
      EXPECT_EQ(Complaint(path), "") << path;
    } else {
      EXPECT_NE(Complaint(path).find(wrong->second), std::string::npos) << Complaint(path);
    }
  }
  EXPECT_EQ(seen, 56);
}

TEST(VerifyCorpusTest, BadCasesThatXlaParsesGetTheVerdictOfItsVerifier) {
  std::ifstream verdicts(fs::path(EIGHTFOLD_TESTDATA) / "bad_cases/verdicts.tsv");
  size_t seen = 0;
  std::string line;
  while (std::getline(verdicts, line)) {
    size_t tab = line.find('\t');
    if (tab == std::string::npos || line.compare(tab + 1, 6, "ACCEPT") != 0) continue;
    ++seen;
    std::string name = line.substr(0, tab);
    std::string complaint = Complaint(fs::path(EIGHTFOLD_TESTDATA) / "bad_cases" / (name + ".hlo"));
    EXPECT_EQ(!complaint.empty(), kRefusedThoughXlaParsesThem.contains(name))
        << name << ": " << complaint;
  }
  EXPECT_EQ(seen, 15);
}

}  // namespace
}  // namespace eightfold::hlo
