#ifndef EIGHTFOLD_HLO_TEXT_READER_H_
#define EIGHTFOLD_HLO_TEXT_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/module.h"
#include "hlo/text/attribute_reader.h"
#include "hlo/text/name_table.h"
#include "hlo/text/scanner.h"
#include "hlo/text/shape_reader.h"

namespace eightfold::hlo::text {

// Nested operands and inline computations deeper than this are refused: reading them recurses.
constexpr int kDeepest = 200;
// Recovery modules in recovery modules: no further than this.
constexpr int kDeepestRecovery = 3;

// Whether two shapes have the same types and dimensions, whatever their layouts and whichever
// dimensions are dynamic.
bool Compatible(const Shape& a, const Shape& b);
// "SIGNED", "UNSIGNED" or "FLOAT": how numbers of this type compare unless said otherwise.
std::string_view ComparisonType(PrimitiveType type);

// Whether `word` is the name of a source table: FileNames …
bool IsTable(std::string_view word);

// Reads one module. Names that are not known yet are noted and resolved when their scope ends: a
// computation for instructions, the module for computations. Methods return false after an error,
// which the scanner keeps.
class Reader {
 public:
  // `recovery_depth`: in how many origin_recovery_tables this module is.
  Reader(const Source& source, Module& module, int recovery_depth = 0);

  bool Read();
  Error TakeError() { return in_.TakeError(); }

 private:
  // An operand or control predecessor that was used before it was defined.
  struct PendingInstruction {
    Instruction** slot;
    Instruction* user;
    std::string_view name;
    std::string_view declared_text;
    const Shape* declared;  // the shape in front of an operand, if any
  };
  struct PendingComputation {
    Computation** slot;
    std::string_view name;
  };
  struct DeclaredShape {
    const Instruction* operand;
    const Shape* shape;
    std::string_view where;
  };
  // What belongs to the computation being read. Inline computations nest, so there is one per
  // level, used again and again.
  struct Scope {
    NameTable<Instruction> names;
    std::vector<Instruction*> instructions;
    std::vector<Instruction*> anonymous;  // nested operands, named when the computation ends
    std::vector<PendingInstruction> pending;
    Instruction* root = nullptr;
  };
  // One instruction while it is being read. Its lists are the tops of the stacks below, from these
  // positions on.
  struct Draft {
    std::string_view name;  // empty for a nested operand
    std::string_view opcode_word;
    const Shape* shape = nullptr;
    Opcode opcode{};
    const OpcodeInfo* info = nullptr;
    // X of the spellings X-start, X-update and X-done that text has for asynchronous operations.
    std::optional<Opcode> wrapped;
    AttributeSet seen;
    size_t operands = 0, predecessors = 0, references = 0, called = 0, attributes = 0;
    std::string_view metadata, backend_config, thread;
  };
  // A name in a draft that is not defined yet.
  struct Reference {
    size_t index;  // into operand_stack_ or predecessor_stack_
    bool is_predecessor;
    std::string_view name;
    std::string_view declared_text;
    const Shape* declared;
  };
  struct CalledRef {
    int slot;  // position in Instruction::called
    Computation* computation;
    std::string_view name;
  };
  struct Alias {
    std::string_view where;
    std::vector<int64_t> output, parameter_index;
    int64_t parameter;
  };
  struct Signature {
    const Computation* computation;
    const Shape* result;
    std::string_view where;
  };

  // Module level: reader.cc.
  bool ReadComputations();
  bool FinishModule();
  bool ResolveComputations();
  void NameMade();
  bool HasTwins() const;
  void MakeNamesUnique();
  bool InferShapes();
  bool CheckDeclaredShapes();
  void Schedule();

  // Header and source tables: read_header.cc.
  bool ReadHeader();
  bool ReadHeaderAttribute(std::string_view name);
  bool ReadEntryLayout();
  bool ReadHeaderBools(uint32_t config_field);
  bool ReadAliasing();
  bool CheckAliasing();
  bool ReadBufferDonors();
  bool ReadTables();
  bool ReadTable(std::string_view section, std::string* wire);
  void SetLayoutFromEntry();
  std::string_view ProgramShape(std::span<const Shape* const> parameters, const Shape& result);

  // origin_recovery_table: read_recovery.cc.
  bool ReadRecoveryTable();
  bool ReadOriginalArray(std::string* wire);
  bool ReadRecoveryModule(std::string_view quoted, std::string* wire);

  // Computations: read_computation.cc.
  bool ReadComputation(std::string_view name, bool is_entry);
  bool ReadSignature(const Shape** result, std::string_view* where);
  bool ReadBody(std::string_view name, Computation** made);
  bool ReadLoneInstruction(std::string_view name);
  bool CloseComputation(Scope& scope, Computation* computation);
  void NameAnonymous(Scope& scope);
  bool ResolvePending(Scope& scope, const Computation& computation);
  bool BadParameters(const Scope& scope, const Computation& computation);
  bool Undefined(const Scope& scope, const PendingInstruction& pending,
                 const Computation& computation);
  bool AddComputation(Computation* computation);
  Scope& OpenScope();

  // Instructions: read_instruction.cc.
  bool ReadStatement(Scope& scope);
  bool ReadInstruction(Scope& scope, std::string_view name, const Shape* shape, int depth,
                       Instruction** made);
  bool ReadOpcode(Draft& draft);
  bool UnknownOpcode(std::string_view word);
  bool ReadOperands(Scope& scope, Draft& draft, int depth);
  bool ReadOperand(Scope& scope, int depth);
  bool ReadParameterNumber();
  bool ReadConstant(Draft& draft);
  const Shape* LiteralShape(const Shape* shape);
  bool CheckOperands(const Draft& draft);
  bool ReadAttributes(Scope& scope, Draft& draft);
  bool IsAttributeNext();
  bool ReadAttribute(Scope& scope, Draft& draft);
  bool ReadCalled(Draft& draft, TextAttribute which);
  bool ReadCallee(int slot);
  bool ReadPredecessors(Scope& scope);
  bool ReadUnknownAttribute(std::string_view name);
  bool CheckAttributes(const Draft& draft);

  // From drafts to instructions: build_instruction.cc.
  bool Build(Scope& scope, Draft& draft, Instruction** made);
  void TakeReferences(Scope& scope, const Draft& draft, Instruction* user);
  void TakeCalled(const Draft& draft, Instruction* user);
  bool BuildWrapped(Draft& draft, Instruction* start);
  void AddOperandDefault(const Draft& draft, Instruction* user);
  std::string_view OperandDefault(Field field, const Shape& operand);
  void FillOperandDefaults();
  bool CheckDeclared(const Instruction& operand, const Shape& declared, std::string_view where);

  Module& module_;
  int recovery_depth_;
  Scanner in_;
  ShapeReader shapes_;
  AttributeReader attributes_;
  NameTable<Computation> computation_names_;
  std::vector<Computation*> computations_;
  std::vector<uint64_t> name_hashes_;  // of all instructions
  std::vector<Instruction*> fusions_;
  // Computations without a name in text, named when the module ends.
  std::vector<Computation*> inline_computations_;
  std::vector<Computation*> wrapped_computations_;
  std::vector<PendingComputation> pending_computations_;
  std::vector<DeclaredShape> declared_shapes_;  // of operands whose own shape is to be inferred
  std::vector<Alias> aliases_;
  std::vector<Signature> signatures_;  // of computations whose root's is
  std::vector<std::unique_ptr<Scope>> scopes_;
  size_t level_ = 0;
  std::vector<Instruction*> operand_stack_;
  std::vector<Instruction*> predecessor_stack_;
  std::vector<Reference> reference_stack_;
  std::vector<CalledRef> called_stack_;
  std::vector<Instruction*> operand_defaults_;  // with attributes that are still empty
  bool infer_ = false;                          // some instruction has no shape
};

}  // namespace eightfold::hlo::text

#endif  // EIGHTFOLD_HLO_TEXT_READER_H_
