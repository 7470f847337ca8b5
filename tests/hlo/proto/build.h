#ifndef EIGHTFOLD_TESTS_HLO_PROTO_BUILD_H_
#define EIGHTFOLD_TESTS_HLO_PROTO_BUILD_H_

#include <functional>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hlo/proto/proto.h"

// Protos written field by field, so that tests do not depend on the writer they test.
namespace eightfold::hlo::testing {

using Fill = std::function<void(protozero::pbf_writer&)>;

inline std::string Message(const Fill& fill) {
  std::string out;
  protozero::pbf_writer writer(out);
  fill(writer);
  return out;
}

// f32[dims] without layout.
inline std::string F32(const std::vector<int64_t>& dims) {
  return Message([&](auto& shape) {
    shape.add_enum(2, 11);
    if (!dims.empty()) shape.add_packed_int64(3, dims.begin(), dims.end());
  });
}

struct Node {
  std::string name;
  std::string opcode;
  int64_t id = 0;
  std::vector<int64_t> operands = {};
  Fill more = {};  // fields behind the ids
  std::string shape = F32({2});
};

inline std::string Encode(const Node& node) {
  return Message([&](auto& out) {
    out.add_string(1, node.name);
    out.add_string(2, node.opcode);
    out.add_message(3, node.shape);
    out.add_int64(35, node.id);
    if (!node.operands.empty()) {
      out.add_packed_int64(36, node.operands.begin(), node.operands.end());
    }
    if (node.more) node.more(out);
  });
}

// A computation whose root is its last node.
inline std::string Computation(const std::string& name, int64_t id, const std::vector<Node>& nodes,
                               const Fill& more = {}) {
  return Message([&](auto& out) {
    out.add_string(1, name);
    for (const Node& node : nodes) out.add_message(2, Encode(node));
    out.add_int64(5, id);
    out.add_int64(6, nodes.back().id);
    if (more) more(out);
  });
}

// A module whose entry is its last computation, with id `entry`.
inline std::string ModuleOf(const std::vector<std::string>& computations, int64_t entry,
                            const Fill& more = {}) {
  return Message([&](auto& out) {
    out.add_string(1, "m");
    for (const std::string& computation : computations) out.add_message(3, computation);
    out.add_int64(6, entry);
    if (more) more(out);
  });
}

inline Result<std::unique_ptr<Module>> Read(std::string bytes) {
  return ReadProto(Source::FromBytes("test.pb", std::move(bytes)));
}

}  // namespace eightfold::hlo::testing

#endif  // EIGHTFOLD_TESTS_HLO_PROTO_BUILD_H_
