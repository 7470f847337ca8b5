#include "hlo/sharding.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <string_view>
#include <vector>

#include "hlo/wire.h"

namespace eightfold::hlo {
namespace {

// More devices than this are no program's; products stop here.
constexpr int64_t kMostDevices = int64_t{1} << 24;

int64_t Times(int64_t product, int64_t factor) {
  return factor <= 0 || product > kMostDevices / factor ? product : product * factor;
}

// Product of the axes of a MeshProto (1: axes; of an axis, 2: size).
int64_t MeshSize(std::string_view mesh) {
  int64_t devices = 1;
  for (wire::Cursor axes(mesh); axes.Next();) {
    if (axes.field() != 1) continue;
    for (wire::Cursor axis(axes.Message()); axis.Next();) {
      if (axis.field() == 2) devices = Times(devices, axis.Int());
    }
  }
  return devices;
}

// Of an OpSharding: the product of tile_assignment_dimensions (3) or the mesh (2) of named_sharding
// (14). The shardings of a tuple's parts (5) are left in `pending`.
int64_t DevicesOf(std::string_view sharding, std::vector<std::string_view>& pending) {
  int64_t tiled = 1;
  int64_t named = 1;
  for (wire::Cursor at(sharding); at.Next();) {
    if (at.field() == 3) at.Ints([&](int64_t dim) { tiled = Times(tiled, dim); });
    if (at.field() == 5) pending.push_back(at.Message());
    if (at.field() != 14) continue;
    for (wire::Cursor inner(at.Message()); inner.Next();) {
      if (inner.field() == 2) named = std::max(named, MeshSize(inner.Message()));
    }
  }
  return std::max(tiled, named);
}

int64_t DevicesOf(std::string_view sharding) {
  int64_t devices = 1;
  std::vector<std::string_view> pending = {sharding};
  while (!pending.empty()) {
    std::string_view at = pending.back();
    pending.pop_back();
    try {
      devices = std::max(devices, DevicesOf(at, pending));
    } catch (const std::exception&) {
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

int64_t ShardedOver(const Module& module) {
  int64_t devices = 1;
  constexpr uint32_t kFrontendAttributes = 19;
  if (const Attribute* attributes = module.Find(kFrontendAttributes)) {
    devices = DevicesOfMeshes(attributes->bytes);
  }
  for (const Computation* computation : module.computations) {
    for (const Instruction* instruction : computation->instructions) {
      std::string_view sharding = instruction->Bytes(Field::kSharding);
      if (!sharding.empty()) devices = std::max(devices, DevicesOf(sharding));
    }
  }
  return devices;
}

}  // namespace eightfold::hlo
