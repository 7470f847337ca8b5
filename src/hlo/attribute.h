#ifndef EIGHTFOLD_HLO_ATTRIBUTE_H_
#define EIGHTFOLD_HLO_ATTRIBUTE_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace eightfold::hlo {

// Attributes as text spells them: one row of attributes.def each.
enum class TextAttribute : uint8_t {
#define ATTRIBUTE(enumerator, text, field, codec) enumerator,
#include "hlo/attributes.def"
#undef ATTRIBUTE
};
constexpr int kTextAttributeCount = 0
#define ATTRIBUTE(enumerator, text, field, codec) +1
#include "hlo/attributes.def"
#undef ATTRIBUTE
    ;
using AttributeSet = std::bitset<kTextAttributeCount>;

// How a value is spelled in text and kept in the IR; attributes.def explains each.
enum class Codec : uint8_t {
  kInts,
  kInt,
  kOneInt,
  kBool,
  kFloat,
  kEnum,
  kWord,
  kString,
  kSubInts,
  kSubInt,
  kSubBool,
  kSubEnum,
  kComputation,
  kComputations,
  kInstructions,
  kWindow,
  kDimLabels,
  kSlice,
  kPadding,
  kShape,
  kSharding,
  kBackendConfig,
  kOperandPrecision,
  kAlgorithm,
  kSourceTargetPairs,
  kDomain,
  kOperandLayoutConstraints,
  kParameterReplication,
  kFrontendAttributes,
  kOutputToOperandAliasing,
  kStatistics,
  kReplicaGroups,
  kOrigin,
  kResultAccuracy,
  kTriState,
  kSparsityConfig,
  kMetadata,
  kLiteral,
  kUnparsed,
  kDropped,
};

struct TextAttributeInfo {
  std::string_view text;
  uint32_t field;  // of HloInstructionProto
  Codec codec;
};
const TextAttributeInfo& Info(TextAttribute attribute);
std::optional<TextAttribute> FindTextAttribute(std::string_view text);

// Attributes as the IR keeps them: by their field number in HloInstructionProto (hlo.proto).
enum class Field : uint32_t {
  kName = 1,
  kOpcode = 2,
  kShape = 3,
  kMetadata = 7,
  kLiteral = 8,
  kParameterNumber = 9,
  kFusionKind = 11,
  kTupleIndex = 13,
  kDimensions = 14,
  kWindow = 15,
  kConvolutionDimensionNumbers = 16,
  kSliceDimensions = 17,
  kExponentBits = 18,
  kMantissaBits = 19,
  kDynamicSliceSizes = 20,
  kPaddingConfig = 21,
  kOutfeedConfig = 22,
  kDistribution = 23,
  kEpsilon = 24,
  kFeatureIndex = 25,
  kChannelId = 26,
  kInfeedConfig = 27,
  kCustomCallTarget = 28,
  kOutfeedShape = 29,
  kDotDimensionNumbers = 30,
  kFftType = 31,
  kFftLength = 32,
  kGatherDimensionNumbers = 33,
  kGatherSliceSizes = 34,
  kId = 35,
  kOperandIds = 36,
  kControlPredecessorIds = 37,
  kCalledComputationIds = 38,
  kSharding = 40,
  kBackendConfig = 43,
  kIsHostTransfer = 47,
  kScatterDimensionNumbers = 48,
  kReplicaGroups = 49,
  kFeatureGroupCount = 50,
  kPrecisionConfig = 51,
  kSourceTargetPairs = 52,
  kDomainEntrySharding = 54,
  kDomainExitSharding = 55,
  kConstrainLayout = 56,
  kOperandShapesWithLayout = 57,
  kBatchGroupCount = 58,
  kTriangularSolveOptions = 59,
  kIsStable = 60,
  kParameterReplication = 61,
  kCholeskyOptions = 62,
  kComparisonDirection = 63,
  kCustomCallHasSideEffect = 65,
  kDelta = 66,
  kIndicesAreSorted = 67,
  kFrontendAttributes = 68,
  kUniqueIndices = 69,
  kRngAlgorithm = 70,
  kUseGlobalDeviceIds = 71,
  kComparisonType = 72,
  kOutputOperandAliasing = 74,
  kPaddingType = 75,
  kCustomCallSchedule = 76,
  kCustomCallApiVersion = 77,
  kAsyncExecutionThread = 79,
  kCrossProgramPrefetchIndex = 80,
  kK = 81,
  kStatisticsViz = 82,
  kLargest = 85,
  kCollectiveDeviceList = 87,
  kOriginalValue = 88,
  kIsComposite = 89,
  kRaggedDotDimensionNumbers = 90,
  kResultAccuracy = 91,
  kIotaCollectiveDeviceList = 92,
  kMeshAxesReplicaGroupList = 93,
  kIsReverse = 94,
  kNumCarries = 95,
  kIsAssociative = 96,
  kConvKind = 97,
  kSparsityConfig = 98,
  kBackendConfigPayload = 99,
  kHasDynamicRoot = 100,
  kBlockScalingConfig = 101,
  kComparisonOrder = 102,
  kShuffleMode = 103,
};

// One attribute value: a protobuf field in wire form. Scalars are decoded; strings, packed lists
// and messages are kept as their payload bytes, so nothing is lost on the way from proto to proto,
// fields of newer versions included. Typed views of the ones that rooms read are in hlo/views.h. A
// repeated message field is several consecutive attributes with one field number.
struct Attribute {
  enum class Wire : uint8_t {
    kVarint,
    kFixed64,
    kBytes,
    kFixed32,
    kText,  // an attribute that only text has and that we do not know: bytes = "name=value"
            // verbatim
  };
  Field field{};
  Wire wire = Wire::kVarint;
  uint64_t scalar = 0;     // kVarint, kFixed32, kFixed64
  std::string_view bytes;  // kBytes, kText

  static Attribute Varint(Field field, uint64_t value) { return {field, Wire::kVarint, value, {}}; }
  static Attribute Bytes(Field field, std::string_view value) {
    return {field, Wire::kBytes, 0, value};
  }
};

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_HLO_ATTRIBUTE_H_
