#ifndef EIGHTFOLD_HLO_TEXT_WRITER_H_
#define EIGHTFOLD_HLO_TEXT_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/float_types.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/shape_codec.h"
#include "hlo/text/text.h"

// The parts of the text writer. They append to one string and throw wire::Damage for attributes
// that are not the messages they should be; WriteText turns that into an Error.
namespace eightfold::hlo::text {

// --- write_number.cc

// `"…"` with C escapes; every byte that is not printable ASCII becomes three octal digits.
void AppendQuoted(std::string& out, std::string_view value);
// A backend config or frontend attribute: raw when it is one brace-balanced block, else quoted.
void AppendRawOrQuoted(std::string& out, std::string_view value);
// "%.6g", or as many digits as it takes to read the same value back.
void AppendDouble(std::string& out, double value);
void AppendFloat(std::string& out, float value);
// The element of a literal with these bits, as XLA spells it. XLA's text for -0 is read back as
// +0; ours is "-0.0".
void AppendFloatBits(std::string& out, const FloatFormat& format, uint64_t bits);
// "{1,2}"
void AppendInts(std::string& out, std::span<const int64_t> values);

// --- write_literal.cc

// What stands between the parentheses of constant(…), with every element.
void AppendLiteral(std::string& out, std::string_view wire);

// --- write_sharding.cc

void AppendSharding(std::string& out, std::string_view op_sharding);
void AppendReplicaGroups(std::string& out, const Instruction& collective);

// --- write_metadata.cc

// "{op_type=… op_name=…}" for an OpMetadata; nothing when XLA would print none.
class MetadataWriter {
 public:
  // Gathers the stack frames that the module's instructions use, in the order that XLA numbers
  // them in.
  explicit MetadataWriter(const Module& module);

  // ", metadata={…}"; nothing when XLA would print nothing.
  void AppendAttribute(std::string& out, std::string_view op_metadata);
  // The bytes that a Payload message stands for; "" for a dangling one.
  std::string_view Payload(std::string_view payload) const;
  // The four tables; nothing when there are no frames.
  void AppendTables(std::string& out) const;

 private:
  struct FileLocation {
    int64_t file = 0, function = 0, line = 0, column = 0, end_line = 0, end_column = 0;
    bool operator==(const FileLocation&) const = default;
  };
  struct Frame {
    int64_t location = 0, parent = 0;
    bool operator==(const Frame&) const = default;
  };
  struct StackFrames {
    std::vector<std::string_view> files, functions;
    std::vector<FileLocation> locations;
    std::vector<Frame> frames;
  };

  static StackFrames DecodeTables(std::string_view stack_frame_index);
  int64_t NewFrame(int64_t frame);
  template <class T, class Map>
  static int64_t Add(std::vector<T>& list, Map& numbers, const T& value);

  StackFrames old_;
  StackFrames new_;
  std::vector<int64_t> new_frame_;  // by old number; 0: not yet numbered, -1: dangling
  std::unordered_map<std::string_view, int64_t> file_numbers_, function_numbers_;
  std::unordered_map<std::string, int64_t> location_numbers_, frame_numbers_;
  std::vector<std::string_view> payloads_;
};

// "{op_name="a"}", as inside shardings.
void AppendMetadataFields(std::string& out, std::string_view op_metadata);

// --- write_order.cc

// XLA lists the instructions of a loaded module by their ids.
std::vector<Instruction*> ById(const Computation& computation);
// The orders in which XLA prints a module that is not scheduled: depth-first from what nothing
// uses, operands and callees first. Everything is in them once, cycles included.
std::vector<Computation*> PrintingOrder(const Module& module);
std::vector<Instruction*> PrintingOrder(const Computation& computation);

// --- write_text.cc, write_header.cc, write_instruction.cc, write_attribute.cc

class Writer {
 public:
  Writer(const Module& module, const TextOptions& options);

  Result<std::string> Write();

 private:
  void WriteHeader();
  void WriteAliasing();
  void WriteDonors();
  void WriteEntryLayout();
  void WriteBools(std::string_view name, uint32_t config_field);
  void WriteRecoveryTable(std::string_view wire);
  void AppendRecoveryModule(std::string_view module_proto);
  const Attribute* FindConfig(uint32_t field) const;

  void WriteComputation(const Computation& computation);
  void WriteInstruction(const Instruction& instruction);
  void WriteOperands(const Instruction& instruction);
  // The opcode's own attributes, in XLA's order.
  void WriteOwnAttributes(const Instruction& instruction, bool aliasing = true);
  // Those that every opcode can have.
  void WriteCommonAttributes(const Instruction& instruction, const Instruction* wrapped);
  void WriteAttribute(const Instruction& instruction, TextAttribute attribute, bool required);
  // Those with a codec of their own.
  void WriteMessage(const Instruction& instruction, TextAttribute attribute, bool required);
  void WriteInts(const Instruction& instruction, TextAttribute attribute, bool required);
  void WriteInt(const Instruction& instruction, TextAttribute attribute, bool required);
  void WriteEnum(const Instruction& instruction, TextAttribute attribute, bool required);
  void WriteWord(const Instruction& instruction, TextAttribute attribute);
  void WriteString(const Instruction& instruction, TextAttribute attribute, bool required);
  void WriteSub(const Instruction& instruction, TextAttribute attribute, bool required);
  void WriteCalled(const Instruction& instruction, TextAttribute attribute);
  void WriteWindow(std::string_view wire);
  void WriteDimLabels(std::string_view wire);
  void WriteSlice(const Instruction& slice);
  void WritePadding(const Instruction& pad);
  void WritePermuteSizes(const Instruction& permute);
  void WritePrecision(std::string_view wire);
  void WritePairs(const Instruction& permute);
  void WriteDomain(const Instruction& domain);
  void WriteLayoutConstraints(const Instruction& call);
  void WriteReplication(const Instruction& parameter);
  void WriteOutputAliasing(const Instruction& instruction);
  void WriteStatistics(std::string_view wire);
  void WriteOrigin(std::string_view wire);
  void WriteResultAccuracy(std::string_view wire);
  void WriteSparsity(std::string_view wire);
  void WriteFrontendAttributes(std::string_view wire);
  void WriteLiteralAttribute(std::string_view wire);
  void WriteBackendConfig(const Instruction& instruction);

  // ", name=".
  void Begin(std::string_view name) { ((out_ += ", ") += name) += '='; }
  void Begin(TextAttribute attribute) { Begin(Info(attribute).text); }
  void AppendName(std::string_view name) { (out_ += '%') += name; }
  void AppendNames(std::span<Computation* const> computations);
  void AppendShape(const Shape& shape);
  void AppendWireShape(std::string_view wire, bool with_layout = true);

  // The one operation that an async instruction stands for, when it prints as one
  // (custom-call-start …); null for all other instructions.
  const Instruction* Wrapped(const Instruction& instruction) const;
  // Whether the computation disappears into the async operations that call it.
  bool IsSugar(const Computation& computation) const;

  const Module& module_;
  TextOptions options_;
  int depth_ = 0;  // of recovery modules inside recovery modules
  std::string out_;
  MetadataWriter metadata_;
  std::vector<bool> sugar_;  // by computation index
  Arena arena_;
  ShapeTable shapes_;
  ShapeDecoder shape_decoder_;
  // Where a shape was printed before: a program has few shapes and prints them often.
  struct Printed {
    size_t at = 0, size = 0;
  };
  std::unordered_map<const Shape*, Printed> printed_shapes_;
};

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_WRITER_H_
