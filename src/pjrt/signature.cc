#include "pjrt/signature.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "hlo/proto/detect.h"
#include "hlo/proto/proto.h"

namespace eightfold::pjrt {
namespace {

// HloModuleProto's input_output_alias and buffer_donor: lists (field 1) of entries.
constexpr uint32_t kInputOutputAlias = 8;
constexpr uint32_t kBufferDonor = 18;

// Marks the parameters that the entries of `list` name in their field `parameter_field`.
void MarkDonated(std::string_view list, uint32_t parameter_field, Signature& signature) {
  protozero::pbf_reader entries(list.data(), list.size());
  while (entries.next(1)) {
    protozero::pbf_reader entry = entries.get_message();
    int64_t parameter = 0;
    while (entry.next()) {
      if (entry.tag() == parameter_field && entry.wire_type() == protozero::pbf_wire_type::varint) {
        parameter = entry.get_int64();
      } else {
        entry.skip();
      }
    }
    if (parameter >= 0 && parameter < static_cast<int64_t>(signature.parameters.size())) {
      signature.parameters[static_cast<size_t>(parameter)].donated = true;
    }
  }
}

Result<void> ReadDonations(const hlo::Module& module, Signature& signature) {
  try {
    if (const hlo::Attribute* alias = module.Find(kInputOutputAlias); alias != nullptr) {
      MarkDonated(alias->bytes, 2, signature);
    }
    if (const hlo::Attribute* donors = module.Find(kBufferDonor); donors != nullptr) {
      MarkDonated(donors->bytes, 1, signature);
    }
  } catch (const protozero::exception&) {
    return Fail(fmt::format("the list of donated parameters of {} is damaged", module.name));
  }
  return {};
}

Result<ArrayShape> ShapeOf(const hlo::Shape& shape, const std::string& whose) {
  Result<ArrayShape> array = ArrayShape::From(shape);
  if (array) return array;
  return Fail(fmt::format("{} cannot be passed: {}", whose, array.error().what),
              "programs that are run here take and return arrays, or one tuple of arrays");
}

Result<Signature> SignatureOf(const hlo::Module& module) {
  Signature signature;
  signature.name = module.name;
  for (const hlo::Instruction* parameter : module.entry->parameters) {
    EF_TRY(ArrayShape shape,
           ShapeOf(*parameter->shape, fmt::format("parameter {}", parameter->name)));
    signature.parameters.push_back({std::string(parameter->name), std::move(shape)});
  }
  const hlo::Shape& result = *module.entry->root->shape;
  const hlo::Shape* const only = &result;
  const auto elements = result.IsTuple() ? result.tuple : std::span(&only, 1);
  for (size_t i = 0; i < elements.size(); ++i) {
    EF_TRY(ArrayShape shape, ShapeOf(*elements[i], fmt::format("result {}", i)));
    signature.results.push_back(std::move(shape));
  }
  EF_CHECK_OK(ReadDonations(module, signature));
  return signature;
}

}  // namespace

Result<Signature> ReadSignature(std::string_view program) {
  if (hlo::DetectProto(program) != hlo::ProtoKind::kModule) {
    return Fail("the program is not a serialized HloModuleProto");
  }
  EF_TRY(auto module, hlo::ReadVerifiedProto(std::string(program), "the program"));
  return SignatureOf(*module);
}

}  // namespace eightfold::pjrt
