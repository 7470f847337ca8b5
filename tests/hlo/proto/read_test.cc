#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "build.h"
#include "hlo/views.h"

namespace eightfold::hlo {
namespace {

using ::testing::ElementsAre;
using testing::Encode;
using testing::Fill;
using ::testing::HasSubstr;
using testing::Message;
using testing::ModuleOf;
using testing::Node;
using testing::Read;

constexpr int64_t kHigh = int64_t{1} << 32;

std::string OneComputation(const std::vector<Node>& nodes, const Fill& more = {}) {
  return ModuleOf({testing::Computation("c", 0, nodes)}, 0, more);
}
Node Parameter(int64_t id) { return {"p", "parameter", id}; }
Node Negate(int64_t id, std::vector<int64_t> operands, Fill more = {}) {
  return {"n", "negate", id, std::move(operands), std::move(more)};
}
// p, n = negate(p) with `more` fields in n.
std::string WithFields(const Fill& more) {
  return OneComputation({Parameter(0), Negate(1, {0}, more)});
}

// What Read says about damaged bytes.
Error ErrorOf(std::string bytes) {
  auto module = Read(std::move(bytes));
  return module ? Error{"it was read"} : module.error();
}

TEST(Detect, BareModule) {
  auto module = Read(OneComputation({Parameter(0), Negate(1, {0})}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->name, "m");
  EXPECT_FALSE((*module)->has_config);
  EXPECT_TRUE((*module)->outer.empty());
}

TEST(Detect, ModuleWithConfig) {
  std::string inner = OneComputation({Parameter(0)});
  auto module = Read(Message([&](auto& out) {
    out.add_message(1, inner);
    out.add_message(2, Message([](auto& config) {
                      config.add_uint64(2, 77);
                      config.add_int64(4, 3);
                      config.add_int64(5, 8);
                    }));
  }));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_TRUE((*module)->has_config);
  EXPECT_EQ((*module)->replica_count, 3);
  EXPECT_EQ((*module)->num_partitions, 8);
  ASSERT_EQ((*module)->config.size(), 1u);
  EXPECT_EQ((*module)->config[0].scalar, 77u);
}

TEST(Detect, HloProtoWithBufferAssignment) {
  std::string inner = OneComputation({Parameter(0)});
  auto module = Read(Message([&](auto& out) {
    out.add_message(1, inner);
    // Logical buffers and aliases: fields 1 and 2 as in a computation, but no instructions.
    out.add_message(3, Message([](auto& buffers) {
                      buffers.add_message(1, Message([](auto& b) { b.add_int64(1, 5); }));
                      buffers.add_message(2, Message([](auto& b) { b.add_int64(1, 5); }));
                    }));
  }));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_FALSE((*module)->has_config);
  ASSERT_EQ((*module)->outer.size(), 1u);
  EXPECT_EQ(static_cast<uint32_t>((*module)->outer[0].field), 3u);
}

// A module named with the bytes of another module is still the outer one. Without an id the inner
// bytes are UTF-8.
TEST(Detect, NameThatParsesAsModule) {
  std::string name = Message([](auto& out) {
    out.add_string(1, "inner");
    out.add_message(3, Message([](auto& computation) {
                      computation.add_string(1, "c");
                      computation.add_message(2, Message([](auto& instruction) {
                                                instruction.add_string(1, "p");
                                                instruction.add_string(2, "parameter");
                                                instruction.add_message(3, testing::F32({2}));
                                              }));
                    }));
  });
  ASSERT_TRUE(Read(name)) << "must be a module itself";
  std::string bytes = Message([&](auto& out) {
    out.add_string(1, name);
    out.add_message(3, testing::Computation("outer", 4, {Parameter(9)}));
    out.add_int64(6, 4);
  });
  auto module = Read(bytes);
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->name, "outer");
}

TEST(Detect, OtherBytesAreRefused) {
  EXPECT_THAT(ErrorOf("").what, HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("HloModule m\n\nENTRY e {}").what, HasSubstr("not an HLO proto"));
  EXPECT_THAT(ErrorOf(std::string(64, '\0')).what, HasSubstr("not an HLO proto"));
}

TEST(Ids, PerComputationWithHighBits) {
  auto module = Read(OneComputation({Parameter(5 * kHigh), Negate(5 * kHigh + 1, {5 * kHigh})}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->root->operands[0]->name, "p");
}

// XLA looks at the low 32 bits inside a computation.
TEST(Ids, HighBitsMayDiffer) {
  auto module = Read(OneComputation({Parameter(5 * kHigh + 3), Negate(4, {3})}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->root->operands[0]->name, "p");
}

TEST(Ids, LowBitsThatRepeatAreToldApartByTheHighOnes) {
  auto module = Read(OneComputation({Parameter(3), Negate(kHigh + 3, {3})}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->root->name, "n");
  EXPECT_EQ((*module)->entry->root->operands[0]->name, "p");
}

TEST(Ids, OneHugeLocalIdCostsNothing) {
  auto module = Read(OneComputation({Parameter(0), Negate(INT32_MAX, {0})}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->root->id, INT32_MAX);
  EXPECT_LT((*module)->arena.footprint(), size_t{1} << 20);
}

TEST(Ids, OperandsMayComeLater) {
  auto module = Read(OneComputation({Negate(1, {0}), Parameter(0)}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->computations[0]->instructions[0]->operands[0]->name, "p");
}

TEST(Ids, RepeatedIdIsAnError) {
  Error error = ErrorOf(OneComputation({Parameter(7), Negate(7, {7})}));
  EXPECT_EQ(error.where.field_path, "computations[0].instructions[1].id");
  EXPECT_THAT(error.what, HasSubstr("7 is also the id of instructions[0]"));
}

TEST(Ids, DanglingOperandNamesItsPlace) {
  Error error = ErrorOf(OneComputation({Parameter(0), Negate(1, {0, 42})}));
  EXPECT_EQ(error.where.field_path, "computations[0].instructions[1].operand_ids[1]");
  EXPECT_THAT(error.what, HasSubstr("42"));
  EXPECT_THAT(error.what, HasSubstr("in instruction n"));
}

TEST(Ids, DanglingCallAndMissingRootAndEntry) {
  Error call = ErrorOf(WithFields([](auto& out) { out.add_int64(38, 9); }));
  EXPECT_EQ(call.where.field_path, "computations[0].instructions[1].called_computation_ids[0]");
  Error root = ErrorOf(ModuleOf({Message([](auto& out) {
                                  out.add_string(1, "c");
                                  out.add_message(2, Encode(Parameter(5)));
                                  out.add_int64(6, 6);
                                })},
                                0));
  EXPECT_THAT(root.what, HasSubstr("root's id 6"));
  EXPECT_EQ(root.where.field_path, "computations[0]");
  Error entry = ErrorOf(ModuleOf({testing::Computation("c", 1, {Parameter(0)})}, 2));
  EXPECT_EQ(entry.where.field_path, "entry_computation_id");
}

TEST(Instruction, UnknownOpcodeNamesTheNearest) {
  Error error = ErrorOf(OneComputation({Parameter(0), {"n", "negatee", 1, {0}}}));
  EXPECT_THAT(error.what, HasSubstr("\"negatee\" is not an opcode"));
  EXPECT_EQ(error.next, "did you mean negate?");
  EXPECT_EQ(error.where.field_path, "computations[0].instructions[1].opcode");
}

TEST(Instruction, UnknownFieldsKeepNumberTypeAndOrder) {
  auto module = Read(WithFields([](auto& out) {
    out.add_bytes(500, "abc");
    out.add_fixed64(501, 0x1122334455667788u);
    out.add_fixed32(501, 9);
    out.add_uint64(500, 1);
  }));
  ASSERT_TRUE(module) << module.error().Format();
  auto attributes = (*module)->entry->root->attributes;
  ASSERT_EQ(attributes.size(), 4u);  // grouped by field, in order within one
  EXPECT_EQ(attributes[0].bytes, "abc");
  EXPECT_EQ(attributes[1].scalar, 1u);
  EXPECT_EQ(attributes[2].wire, Attribute::Wire::kFixed64);
  EXPECT_EQ(attributes[3].wire, Attribute::Wire::kFixed32);
}

TEST(Instruction, UnpackedListsAreJoined) {
  auto module =
      Read(OneComputation({Parameter(0), {"n", "negate", 1, {}, [](auto& out) {
                                            out.add_int64(14, 3);
                                            out.add_int64(36, 0);
                                            std::vector<int64_t> two = {4, 5};
                                            out.add_packed_int64(14, two.begin(), two.end());
                                            out.add_int64(36, 0);
                                          }}}));
  ASSERT_TRUE(module) << module.error().Format();
  const Instruction& root = *(*module)->entry->root;
  EXPECT_THAT(Dimensions(root), ElementsAre(3, 4, 5));
  EXPECT_EQ(root.operands.size(), 2u);
  EXPECT_EQ(root.attributes.size(), 1u);
}

TEST(Instruction, RepeatedSingleFieldsFollowProtobuf) {
  auto module = Read(WithFields([](auto& out) {
    out.add_int64(13, 1);
    out.add_message(30, Message([](auto& dims) { dims.add_int64(1, 2); }));
    out.add_int64(13, 2);
    out.add_message(30, Message([](auto& dims) { dims.add_int64(2, 7); }));
  }));
  ASSERT_TRUE(module) << module.error().Format();
  const Instruction& root = *(*module)->entry->root;
  EXPECT_EQ(root.Int(Field::kTupleIndex), 2);
  DotDimensions dims = DecodeDotDimensions(root);
  EXPECT_THAT(dims.lhs_contracting, ElementsAre(2));
  EXPECT_THAT(dims.rhs_contracting, ElementsAre(7));
}

TEST(Instruction, WrongWireTypeIsAnError) {
  Error error = ErrorOf(WithFields([](auto& out) { out.add_bytes(26, "x"); }));
  EXPECT_EQ(error.where.field_path, "computations[0].instructions[1].channel_id");
  EXPECT_THAT(error.what, HasSubstr("must be varint"));
}

TEST(Instruction, StringsMustBeUtf8ButBytesNeedNot) {
  EXPECT_THAT(ErrorOf(OneComputation({{"p\xff", "parameter", 0}})).what, HasSubstr("UTF-8"));
  Error metadata = ErrorOf(WithFields([](auto& out) {
    out.add_message(7, Message([](auto& m) { m.add_string(2, "\xff\xfe"); }));
  }));
  EXPECT_THAT(metadata.what, HasSubstr("UTF-8"));
  EXPECT_EQ(metadata.where.field_path, "computations[0].instructions[1].metadata.field 2");
  // Overlong, surrogate, beyond U+10FFFF, cut short.
  for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_THAT(ErrorOf(WithFields([&](auto& out) { out.add_string(28, bad); })).what,
                HasSubstr("UTF-8"));
  }
  EXPECT_TRUE(Read(WithFields([](auto& out) { out.add_string(28, "\xf0\x9f\x98\x80 \xc3\xa9"); })));
  auto module = Read(WithFields([](auto& out) { out.add_bytes(43, "\xff"); }));
  ASSERT_TRUE(module);
  EXPECT_EQ((*module)->entry->root->backend_config, "\xff");
}

TEST(Shapes, LayoutFieldsOtherThanDefaultsAreKept) {
  auto shape = [](const Fill& layout) {
    return Message([&](auto& out) {
      out.add_enum(2, 11);
      std::vector<int64_t> dims = {2, 3};
      out.add_packed_int64(3, dims.begin(), dims.end());
      out.add_message(5, Message([&](auto& l) {
                        std::vector<int64_t> order = {0, 1};
                        l.add_packed_int64(1, order.begin(), order.end());
                        layout(l);
                      }));
      out.add_string(6, std::string(2, '\0'));
    });
  };
  std::string plain = shape([](auto&) {});
  std::string aligned = shape([](auto& l) {
    l.add_int64(8, 0);
    l.add_int64(16, 1);
  });
  std::string space = shape([](auto& l) { l.add_int64(8, 5); });
  auto module = Read(OneComputation({{"a", "parameter", 0, {}, {}, plain},
                                     {"b", "parameter", 1, {}, {}, aligned},
                                     {"c", "parameter", 2, {}, {}, space}}));
  ASSERT_TRUE(module) << module.error().Format();
  auto all = (*module)->entry->instructions;
  EXPECT_EQ(all[0]->shape, all[1]->shape);
  EXPECT_EQ(all[0]->shape->layout_extra, "");
  EXPECT_TRUE(all[0]->shape->dynamic.empty());
  EXPECT_EQ(all[2]->shape->layout_extra, "\x40\x05");
  EXPECT_THAT(all[2]->shape->minor_to_major, ElementsAre(0, 1));
}

std::string NestedTuple(int depth) {
  std::string shape = testing::F32({});
  for (int i = 0; i < depth; ++i) {
    shape = Message([&](auto& out) {
      out.add_enum(2, 13);
      out.add_message(4, shape);
    });
  }
  return shape;
}

TEST(Shapes, DeepTuplesAreRefused) {
  EXPECT_TRUE(Read(OneComputation({{"p", "parameter", 0, {}, {}, NestedTuple(200)}})));
  Error error = ErrorOf(OneComputation({{"p", "parameter", 0, {}, {}, NestedTuple(201)}}));
  EXPECT_THAT(error.what, HasSubstr("nested more than 200 deep"));
  // Also when the inner part is known already.
  EXPECT_THAT(ErrorOf(OneComputation({{"p", "parameter", 0, {}, {}, NestedTuple(200)},
                                      {"q", "parameter", 1, {}, {}, NestedTuple(201)}}))
                  .what,
              HasSubstr("nested more than 200 deep"));
}

TEST(Shapes, DamageNamesThePath) {
  auto with_shape = [](const Fill& fill) {
    return ErrorOf(OneComputation({{"p", "parameter", 0, {}, {}, Message(fill)}}));
  };
  std::string bad = Message([](auto& out) {
    out.add_enum(2, 11);
    out.add_message(5, Message([](auto& layout) { layout.add_int64(1, 0); }));
  });
  Error error = with_shape([&](auto& out) {
    out.add_enum(2, 13);
    out.add_message(4, testing::F32({1}));
    out.add_message(4, bad);
  });
  EXPECT_EQ(error.where.field_path, "computations[0].instructions[0].shape.tuple_shapes[1].layout");
  EXPECT_THAT(with_shape([](auto& out) { out.add_enum(2, 99); }).what, HasSubstr("99 is unknown"));
  EXPECT_THAT(with_shape([](auto& out) {
                out.add_enum(2, 11);
                out.add_int64(3, -4);
              }).what,
              HasSubstr("dimension of -4"));
}

TEST(Schedule, IsResolved) {
  auto schedule = [](const std::vector<int64_t>& ids) {
    return [ids](protozero::pbf_writer& out) {
      out.add_message(7, Message([&](auto& s) {
                        s.add_message(1, Message([&](auto& entry) {
                                        entry.add_int64(1, 0);
                                        entry.add_message(2, Message([&](auto& sequence) {
                                                            sequence.add_packed_int64(
                                                                1, ids.begin(), ids.end());
                                                          }));
                                      }));
                      }));
    };
  };
  std::vector<Node> nodes = {Parameter(0), {"q", "parameter", 1}, Negate(2, {0})};
  auto module = Read(OneComputation(nodes, schedule({1, 0, 2})));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_TRUE((*module)->is_scheduled);
  std::vector<std::string_view> order;
  for (Instruction* instruction : (*module)->entry->schedule) order.push_back(instruction->name);
  EXPECT_THAT(order, ElementsAre("q", "p", "n"));
  EXPECT_THAT(ErrorOf(OneComputation(nodes, schedule({1, 0}))).what, HasSubstr("2 of the 3"));
  EXPECT_THAT(ErrorOf(OneComputation(nodes, schedule({1, 1, 2}))).what, HasSubstr("twice"));
  Error dangling = ErrorOf(OneComputation(nodes, schedule({1, 0, 8})));
  EXPECT_EQ(dangling.where.field_path, "schedule.sequences[0].value.instruction_ids[2]");
}

TEST(Damage, WireErrorsAreNamed) {
  std::string good = OneComputation({Parameter(0)});
  EXPECT_THAT(ErrorOf(good + "\x08").what, HasSubstr("ends in the middle"));
  EXPECT_THAT(ErrorOf(good + "\x0b").what, HasSubstr("group"));
  EXPECT_THAT(ErrorOf(good + "\x0f").what, HasSubstr("wire type 7"));
  EXPECT_THAT(ErrorOf(good + std::string(1, '\0')).what, HasSubstr("field number 0"));
  EXPECT_THAT(ErrorOf(good + "\x08" + std::string(11, '\xff')).what, HasSubstr("10 bytes"));
  // Field 100 with a length of 2^32 + 1, which must not wrap.
  EXPECT_THAT(ErrorOf(good + "\xa2\x06\x81\x80\x80\x80\x10zz").what,
              HasSubstr("4294967297 bytes long, but only 2"));
}

// A message in a million pieces must not cost a million times its size.
TEST(Damage, ManyPiecesTakeLinearTime) {
  auto start = std::chrono::steady_clock::now();
  auto module = Read(OneComputation({Parameter(0), {"n", "negate", 1, {}, [](auto& out) {
                                                      for (int i = 0; i < 300000; ++i) {
                                                        out.add_int64(36, 0);
                                                        out.add_bytes(7, "\x20\x01");
                                                        out.add_int64(14, 1);
                                                      }
                                                    }}}));
  ASSERT_TRUE(module) << module.error().Format();
  EXPECT_EQ((*module)->entry->root->operands.size(), 300000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// Every 97th truncation of a real program, and every one of a small program: an error, never a
// crash. A cut at the end of a top-level field can leave a smaller module.
TEST(Damage, TruncatedPrograms) {
  for (auto [file, step] : {std::pair("move.pb", 97), std::pair("repro.pb", 1)}) {
    auto source = Source::Open(std::string(EIGHTFOLD_TESTDATA "/programs/") + file);
    ASSERT_TRUE(source);
    std::string_view bytes = (*source)->bytes();
    size_t read = 0;
    for (size_t size = 0; size < bytes.size(); size += static_cast<size_t>(step)) {
      auto module = Read(std::string(bytes.substr(0, size)));
      read += module.has_value();
      if (!module) {
        EXPECT_FALSE(module.error().what.empty());
      }
    }
    EXPECT_LT(read, 20u);
    EXPECT_TRUE(Read(std::string(bytes)));
  }
}

}  // namespace
}  // namespace eightfold::hlo
