#include "cli/sharding.h"

#include <algorithm>
#include <charconv>
#include <protozero/pbf_message.hpp>
#include <vector>

namespace eightfold::cli {
namespace {

// More devices than this are no program's; products stop here.
constexpr int64_t kMostDevices = int64_t{1} << 24;

int64_t Times(int64_t product, int64_t factor) {
  return factor <= 0 || product > kMostDevices / factor ? product : product * factor;
}

// Sizes of the axes of a MeshProto (field 1: axes; of an axis, field 2: size).
int64_t MeshSize(protozero::pbf_reader mesh) {
  int64_t devices = 1;
  while (mesh.next(1)) {
    protozero::pbf_reader axis = mesh.get_message();
    while (axis.next(2)) devices = Times(devices, axis.get_int64());
  }
  return devices;
}

// Of one OpSharding: product of tile_assignment_dimensions (3), the mesh of named_sharding (14),
// and of the shardings of a tuple's parts (5), which are put into `pending`.
int64_t DevicesOf(protozero::pbf_reader sharding, std::vector<std::string_view>& pending) {
  int64_t tiled = 1;
  int64_t named = 1;
  while (sharding.next()) {
    if (sharding.tag_and_type() ==
        protozero::tag_and_type(3, protozero::pbf_wire_type::length_delimited)) {
      for (int64_t dim : sharding.get_packed_int64()) tiled = Times(tiled, dim);
    } else if (sharding.tag_and_type() ==
               protozero::tag_and_type(5, protozero::pbf_wire_type::length_delimited)) {
      protozero::data_view part = sharding.get_view();
      pending.emplace_back(part.data(), part.size());
    } else if (sharding.tag_and_type() ==
               protozero::tag_and_type(14, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader message = sharding.get_message();
      while (message.next(2)) named = std::max(named, MeshSize(message.get_message()));
    } else {
      sharding.skip();
    }
  }
  return std::max(tiled, named);
}

int64_t DevicesOf(std::string_view wire) {
  int64_t devices = 1;
  std::vector<std::string_view> pending = {wire};
  while (!pending.empty()) {
    std::string_view at = pending.back();
    pending.pop_back();
    try {
      devices = std::max(devices, DevicesOf(protozero::pbf_reader(at.data(), at.size()), pending));
    } catch (const protozero::exception&) {
      // A damaged sharding is for the compiler to complain about.
    }
  }
  return devices;
}

// Of the text of a Shardy mesh, `#sdy.mesh<["x"=4, "y"=2]>`: the product of the numbers behind "=.
int64_t DevicesOfMeshes(std::string_view attributes) {
  int64_t most = 1;
  constexpr std::string_view kMesh = "mesh<[";
  for (size_t at = attributes.find(kMesh); at != std::string_view::npos;
       at = attributes.find(kMesh, at)) {
    at += kMesh.size();
    std::string_view axes = attributes.substr(at, attributes.find(']', at) - at);
    int64_t devices = 1;
    for (size_t equals = axes.find('='); equals != std::string_view::npos;
         equals = axes.find('=', equals + 1)) {
      int64_t size = 1;
      std::from_chars(axes.data() + equals + 1, axes.data() + axes.size(), size);
      devices = Times(devices, size);
    }
    most = std::max(most, devices);
  }
  return most;
}

}  // namespace

int64_t ShardedOver(const hlo::Module& module) {
  int64_t devices = 1;
  constexpr uint32_t kFrontendAttributes = 19;
  if (const hlo::Attribute* attributes = module.Find(kFrontendAttributes)) {
    devices = DevicesOfMeshes(attributes->bytes);
  }
  for (const hlo::Computation* computation : module.computations) {
    for (const hlo::Instruction* instruction : computation->instructions) {
      std::string_view sharding = instruction->Bytes(hlo::Field::kSharding);
      if (!sharding.empty()) devices = std::max(devices, DevicesOf(sharding));
    }
  }
  return devices;
}

bool HoldsShardings(std::string_view bytecode) {
  constexpr std::string_view kSigns[] = {"mhlo.sharding", "sdy.sharding", "sdy.mesh"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return bytecode.find(sign) != std::string_view::npos; });
}

}  // namespace eightfold::cli
