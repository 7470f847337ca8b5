#ifndef EIGHTFOLD_HLO_TEXT_ATTRIBUTE_READER_H_
#define EIGHTFOLD_HLO_TEXT_ATTRIBUTE_READER_H_

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/attribute.h"
#include "hlo/opcode.h"
#include "hlo/text/scanner.h"
#include "hlo/text/shape_reader.h"

namespace eightfold::hlo::text {

// The attribute spelled `text`; -1 for an unknown one. As FindTextAttribute, but fast.
int LookUpAttribute(std::string_view text);

// Reads attribute values, each into the protobuf fields that hold it. Collected attributes lie on a
// stack, because an inline computation is read in the middle of its caller's attributes.
class AttributeReader {
 public:
  AttributeReader(Scanner& scanner, ShapeReader& shapes) : in_(scanner), shapes_(shapes) {}

  // Where the attributes of an instruction start.
  size_t Mark() const { return stack_.size(); }
  // Reads the value of `which`, behind its `=`. Not for called computations, control predecessors,
  // metadata and backend_config, which have places of their own.
  bool Read(Opcode opcode, TextAttribute which, size_t mark);
  void Push(const Attribute& attribute) { stack_.push_back(attribute); }
  bool Has(Field field, size_t mark) const { return Find(field, mark) != nullptr; }
  // What XLA fills in for attributes that were left out; `seen` are those that were not.
  void AddDefaults(Opcode opcode, size_t mark, size_t operands, const AttributeSet& seen);
  // The attributes since `mark`, moved to the arena, grouped by field.
  std::span<Attribute> Take(size_t mark);
  // Takes out those since `mark` that every opcode has (sharding …), leaving the opcode's own.
  std::vector<Attribute> TakeCommon(size_t mark);

  bool ReadMetadata(std::string_view* wire);
  bool ReadBackendConfig(std::string_view* value);
  // FrontendAttributes, also of a module.
  bool ReadFrontendAttributes(std::string_view* wire);

 private:
  // A value with a codec of its own.
  bool ReadMessage(Field field, Codec codec);
  bool ReadInts(Field field);
  bool ReadScalar(Field field, Codec codec);
  bool ReadWordOrString(Opcode opcode, Field field, Codec codec, TextAttribute which);
  bool ReadEnum(Opcode opcode, TextAttribute which, size_t mark);
  bool ReadSub(Opcode opcode, TextAttribute which, size_t mark);
  bool ReadWindow();
  bool ReadWindowKey(std::string_view key, std::vector<std::vector<int64_t>>* values);
  bool ReadDimLabels();
  bool ReadSlice();
  bool ReadPadding();
  bool ReadPrecision(size_t mark);
  bool ReadSourceTargetPairs();
  bool ReadPermuteSizes();
  bool ReadDomain();
  bool ReadLayoutConstraints();
  bool ReadReplication();
  bool ReadAliasing();
  bool ReadStatistics();
  bool ReadReplicaGroups();
  bool ReadOrigin();
  bool ReadOriginTree(std::string* elements, std::vector<int64_t>* path, int depth);
  bool ReadOriginLeaf(std::string* elements, const std::vector<int64_t>& path);
  bool ReadResultAccuracy();
  bool ReadTolerance(std::string* wire);
  bool ReadSparsity();
  bool ReadTensorSparsity(std::string* wire);
  bool ReadLiteralAttribute();

  void AddScalar(Field field, uint64_t value) {
    if (value != 0) stack_.push_back(Attribute::Varint(field, value));
  }
  void AddBytes(Field field, std::string_view payload) {
    stack_.push_back(Attribute::Bytes(field, in_.arena().Copy(payload)));
  }
  void AddPacked(Field field, std::span<const int64_t> values);
  // Adds to a message that several attributes make up: the wire forms of parts of a message, one
  // after the other, are the whole message.
  void Merge(Field field, size_t mark, std::string_view part);
  Attribute* Find(Field field, size_t mark) {
    for (size_t i = mark; i < stack_.size(); ++i) {
      if (stack_[i].field == field && stack_[i].wire != Attribute::Wire::kText) return &stack_[i];
    }
    return nullptr;
  }
  const Attribute* Find(Field field, size_t mark) const {
    return const_cast<AttributeReader*>(this)->Find(field, mark);
  }
  void WrapRaggedDot(size_t mark);

  struct CachedMetadata {
    uint64_t hash = 0;
    std::string_view text;
    std::string_view wire;
  };

  Scanner& in_;
  ShapeReader& shapes_;
  std::vector<CachedMetadata> metadata_cache_ = std::vector<CachedMetadata>(2048);
  std::vector<Attribute> stack_;
  std::vector<int64_t> ints_;
  std::string wire_;
};

// A packed int64 list with its tag; nothing for an empty one.
void AppendPacked(std::string* wire, uint32_t field, std::span<const int64_t> values);

// OpSharding, behind `sharding=`.
bool ReadSharding(Scanner& in, std::string* wire);
// MeshProto: `mesh['x'=2,'y'=4]` and `, device_ids=(…)`; the names of its axes in order.
bool ReadMesh(Scanner& in, std::string* wire, std::vector<std::string_view>* axes);
// AxisRefProto: `'x'` or `'y':(1)2`.
bool ReadAxis(Scanner& in, const std::vector<std::string_view>& axes, std::string* wire);
// OpMetadata fields behind `metadata=`.
bool ReadMetadata(Scanner& in, std::string* wire);
// `<=[4,2]T(1,0)`: the dimensions and, if any, the permutation.
bool ReadIota(Scanner& in, std::vector<int64_t>* dims, std::vector<int64_t>* permutation);

// LiteralProto of `shape` behind `constant(`. An elided one, `{...}`, leaves `wire` empty.
bool ReadLiteral(Scanner& in, const Shape& shape, std::string* wire);

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_ATTRIBUTE_READER_H_
