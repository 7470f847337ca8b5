#include "hlo/opcode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace eightfold::hlo {
namespace {

// HloOpcode as jaxlib 0.10.2 lists it (dir(jaxlib._hlo.HloOpcode)).
constexpr std::string_view kJaxlibOpcodes =
    "kAbs kAcos kAcosh kAdd kAddDependency kAfterAll kAllGather kAllGatherDone kAllGatherStart "
    "kAllReduce kAllReduceDone kAllReduceStart kAllToAll kAnd kAsin kAsinh kAsyncDone kAsyncStart "
    "kAsyncUpdate kAtan2 kAtanh kBatchNormGrad kBatchNormInference kBatchNormTraining kBitcast "
    "kBitcastConvert kBroadcast kCall kCbrt kCeil kCholesky kClamp kClz kCollectiveBroadcast "
    "kCollectivePermute kCollectivePermuteDone kCollectivePermuteStart kCompare kComplex "
    "kConcatenate kConditional kConstant kConvert kConvolution kCopy kCopyDone kCopyStart kCos "
    "kCosh kCustomCall kDivide kDomain kDot kDynamicReshape kDynamicSlice kDynamicUpdateSlice kErf "
    "kExp kExpm1 kFft kFloor kFusion kGather kGetDimensionSize kGetTupleElement kImag kInfeed "
    "kIota kIsFinite kLog kLog1p kLogistic kMap kMaximum kMinimum kMulhi kMultiply kNegate kNot "
    "kOptimizationBarrier kOr kOutfeed kPad kParameter kPartitionId kPopulationCount kPower "
    "kRaggedAllToAll kRaggedDot kReal kRecv kRecvDone kReduce kReducePrecision kReduceScatter "
    "kReduceWindow kRemainder kReplicaId kReshape kReverse kRng kRngBitGenerator "
    "kRngGetAndUpdateState kRoundNearestAfz kRoundNearestEven kRsqrt kScaledDot kScan kScatter "
    "kSelect kSelectAndScatter kSend kSendDone kSetDimensionSize kShiftLeft kShiftRightArithmetic "
    "kShiftRightLogical kSign kSin kSinh kSlice kSort kSqrt kStochasticConvert kSubtract kTan "
    "kTanh kTopK kTranspose kTriangularSolve kTuple kWhile kXor";

// Spellings that are not the enumerator's words in lower case with dashes.
const std::map<std::string, std::string> kIrregular = {
    {"kExp", "exponential"},
    {"kExpm1", "exponential-minus-one"},
    {"kLog1p", "log-plus-one"},
    {"kCos", "cosine"},
    {"kSin", "sine"},
    {"kClz", "count-leading-zeros"},
    {"kPopulationCount", "popcnt"},
    {"kOptimizationBarrier", "opt-barrier"},
    {"kTopK", "topk"},
};

std::string Spelling(const std::string& enumerator) {
  if (auto it = kIrregular.find(enumerator); it != kIrregular.end()) return it->second;
  std::string out;
  for (char c : enumerator.substr(1)) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !out.empty()) out += '-';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::set<std::string> ExpectedSpellings() {
  std::set<std::string> expected = {"collective-reduce", "shuffle"};  // new in 0.12
  std::istringstream words{std::string(kJaxlibOpcodes)};
  for (std::string word; words >> word;) expected.insert(Spelling(word));
  return expected;
}

TEST(OpcodeTest, EveryOpcodeOfXlaIsThereUnderItsSpelling) {
  std::set<std::string> ours;
  for (int i = 0; i < kOpcodeCount; ++i) ours.emplace(Name(static_cast<Opcode>(i)));
  EXPECT_EQ(ours, ExpectedSpellings());
  EXPECT_EQ(kOpcodeCount, 135);
}

TEST(OpcodeTest, NamesAndOpcodesAreInversesOfEachOther) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(FindOpcode(Name(opcode)), opcode) << Name(opcode);
  }
  EXPECT_EQ(FindOpcode("frobnicate"), std::nullopt);
  EXPECT_EQ(FindOpcode("Add"), std::nullopt);
  EXPECT_EQ(FindOpcode(""), std::nullopt);
}

TEST(OpcodeTest, TheNearestOpcodeIsWhatWasMeant) {
  EXPECT_EQ(NearestOpcode("convolve"), "");  // as far from convert as from convolution
  EXPECT_EQ(NearestOpcode("convolutions"), "convolution");
  EXPECT_EQ(NearestOpcode("mutiply"), "multiply");
  EXPECT_EQ(NearestOpcode("zzzzzzzz"), "");
}

TEST(OpcodeTest, RowsAreConsistent) {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const OpcodeInfo& info = Info(static_cast<Opcode>(i));
    EXPECT_GE(info.fewest_operands, 0) << info.name;
    EXPECT_TRUE(info.most_operands == -1 || info.most_operands >= info.fewest_operands)
        << info.name;
    // What is required is allowed, and its own attributes are listed once each.
    EXPECT_EQ(info.required & ~info.allowed, AttributeSet()) << info.name;
    AttributeSet own;
    for (TextAttribute attribute : info.attributes) {
      EXPECT_FALSE(own.test(static_cast<size_t>(attribute)))
          << info.name << " lists " << Info(attribute).text << " twice";
      own.set(static_cast<size_t>(attribute));
    }
    EXPECT_EQ(own & ~info.allowed, AttributeSet()) << info.name;
    EXPECT_TRUE(info.allowed.test(static_cast<size_t>(TextAttribute::kMetadata))) << info.name;
  }
}

TEST(OpcodeTest, EveryAttributeHasAUser) {
  AttributeSet used;
  for (int i = 0; i < kOpcodeCount; ++i) used |= Info(static_cast<Opcode>(i)).allowed;
  for (int i = 0; i < kTextAttributeCount; ++i) {
    EXPECT_TRUE(used.test(static_cast<size_t>(i)))
        << Info(static_cast<TextAttribute>(i)).text << " is of no opcode";
  }
}

TEST(OpcodeTest, AttributeSpellingsAreFoundAgain) {
  for (int i = 0; i < kTextAttributeCount; ++i) {
    auto attribute = static_cast<TextAttribute>(i);
    EXPECT_EQ(FindTextAttribute(Info(attribute).text), attribute) << Info(attribute).text;
  }
  EXPECT_EQ(FindTextAttribute("wibble"), std::nullopt);
}

TEST(OpcodeTest, ElementwiseOperationsTakeAsManyOperandsAsTheirKindSays) {
  int unary = 0;
  int binary = 0;
  for (int i = 0; i < kOpcodeCount; ++i) {
    auto opcode = static_cast<Opcode>(i);
    if (IsElementwiseUnary(opcode)) {
      ++unary;
      EXPECT_EQ(Info(opcode).most_operands, 1) << Name(opcode);
    }
    if (IsElementwiseBinary(opcode)) {
      ++binary;
      EXPECT_EQ(Info(opcode).fewest_operands, 2) << Name(opcode);
    }
  }
  EXPECT_GT(unary, 25);
  EXPECT_GT(binary, 14);
  EXPECT_FALSE(IsElementwiseUnary(Opcode::kConvert));
  EXPECT_FALSE(IsElementwiseBinary(Opcode::kCompare));
}

}  // namespace
}  // namespace eightfold::hlo
