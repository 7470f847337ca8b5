#include <fmt/format.h>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

using wire::Cursor;
using wire::Damage;

void Collect(const Cursor& cursor, std::vector<int64_t>& into) {
  cursor.Ints([&](int64_t value) { into.push_back(value); });
}

void AppendJoined(std::string& out, std::span<const int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ',';
    AppendInt(out, values[i]);
  }
}

bool IsIdentity(std::span<const int64_t> permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// "[4,2]T(1,0)"; the permutation of a single dimension says nothing.
void AppendIota(std::string& out, std::span<const int64_t> dims,
                std::span<const int64_t> permutation) {
  out += '[';
  AppendJoined(out, dims);
  out += ']';
  if (permutation.size() < 2 || IsIdentity(permutation)) return;
  out += "T(";
  AppendJoined(out, permutation);
  out += ')';
}

// --- Meshes: named shardings and replica groups.

struct Mesh {
  std::vector<std::pair<std::string_view, int64_t>> axes;
  std::vector<int64_t> device_ids;
  bool has_iota = false;
  std::vector<int64_t> iota_dims, iota_permutation;
};

Mesh DecodeMesh(std::string_view message) {
  Mesh mesh;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) {
      auto& [name, size] = mesh.axes.emplace_back();
      for (Cursor axis(cursor.Message()); axis.Next();) {
        if (axis.field() == 1) name = axis.Message();
        if (axis.field() == 2) size = axis.Int();
      }
    } else if (cursor.field() == 2) {
      Collect(cursor, mesh.device_ids);
    } else if (cursor.field() == 3) {
      mesh.has_iota = true;
      for (Cursor iota(cursor.Message()); iota.Next();) {
        if (iota.field() == 1) Collect(iota, mesh.iota_dims);
        if (iota.field() == 2) Collect(iota, mesh.iota_permutation);
      }
    }
  }
  return mesh;
}

// "mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0))"
void AppendMesh(std::string& out, const Mesh& mesh) {
  out += "mesh[";
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    if (i != 0) out += ',';
    ((out += '\'') += mesh.axes[i].first) += "'=";
    AppendInt(out, mesh.axes[i].second);
  }
  out += ']';
  if (mesh.has_iota) {
    out += ", device_ids=(";
    AppendIota(out, mesh.iota_dims, mesh.iota_permutation);
    out += ')';
  } else if (!mesh.device_ids.empty()) {
    out += ", device_ids=(";
    AppendJoined(out, mesh.device_ids);
    out += ')';
  }
}

// "'x'" or, for a part of an axis, "'y':(1)2" = size 2 behind a part of size 1.
void AppendAxis(std::string& out, const Mesh& mesh, std::string_view axis_ref) {
  int64_t index = 0;
  int64_t pre_size = 0;
  int64_t size = 0;
  bool is_part = false;
  for (Cursor cursor(axis_ref); cursor.Next();) {
    if (cursor.field() == 1) index = cursor.Int();
    if (cursor.field() != 2) continue;
    is_part = true;
    for (Cursor part(cursor.Message()); part.Next();) {
      if (part.field() == 1) pre_size = part.Int();
      if (part.field() == 2) size = part.Int();
    }
  }
  if (index < 0 || static_cast<size_t>(index) >= mesh.axes.size()) {
    throw Damage(fmt::format("mesh has {} axes, no axis {}", mesh.axes.size(), index));
  }
  ((out += '\'') += mesh.axes[static_cast<size_t>(index)].first) += '\'';
  if (is_part) out += fmt::format(":({}){}", pre_size, size);
}

void AppendAxes(std::string& out, const Mesh& mesh, std::span<const std::string_view> axes,
                std::string_view separator) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != 0) out += separator;
    AppendAxis(out, mesh, axes[i]);
  }
}

// "{'x', 'y'}", with "?" last when more axes may be added.
void AppendDimSharding(std::string& out, const Mesh& mesh, std::string_view message) {
  std::vector<std::string_view> axes;
  bool closed = false;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) axes.push_back(cursor.Message());
    if (cursor.field() == 2) closed = cursor.Int() != 0;
  }
  out += '{';
  AppendAxes(out, mesh, axes, ", ");
  if (!closed) out += axes.empty() ? "?" : ", ?";
  out += '}';
}

void AppendAxesField(std::string& out, std::string_view name, const Mesh& mesh,
                     std::span<const std::string_view> axes) {
  if (axes.empty()) return;
  ((out += ", ") += name) += "={";
  AppendAxes(out, mesh, axes, ", ");
  out += '}';
}

void AppendMetadataList(std::string& out, std::span<const std::string_view> metadata) {
  if (metadata.size() > 1) out += '{';
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (i != 0) out += ", ";
    AppendMetadataFields(out, metadata[i]);
  }
  if (metadata.size() > 1) out += '}';
}

struct NamedSharding {
  Mesh mesh;
  std::vector<std::string_view> dims, replicated, unreduced, manual, metadata;
};

NamedSharding DecodeNamedSharding(std::string_view message) {
  NamedSharding named;
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case 2:
        named.mesh = DecodeMesh(cursor.Message());
        break;
      case 3:
        named.dims.push_back(cursor.Message());
        break;
      case 4:
        named.replicated.push_back(cursor.Message());
        break;
      case 5:
        named.unreduced.push_back(cursor.Message());
        break;
      case 6:
        named.metadata.push_back(cursor.Message());
        break;
      case 7:
        named.manual.push_back(cursor.Message());
        break;
      default:
        break;
    }
  }
  return named;
}

// Whether `axes` are all axes of the mesh, none of them in part.
bool IsEveryAxis(const Mesh& mesh, std::span<const std::string_view> axes) {
  for (std::string_view axis : axes) {
    for (Cursor cursor(axis); cursor.Next();) {
      if (cursor.field() == 2) return false;
    }
  }
  return axes.size() == mesh.axes.size();
}

void AppendNamedSharding(std::string& out, std::string_view message) {
  NamedSharding named = DecodeNamedSharding(message);
  const Mesh& mesh = named.mesh;
  if (mesh.axes.empty() && mesh.device_ids.size() == 1) {
    out += "{maximal_mesh[device_id=";
    AppendInt(out, mesh.device_ids[0]);
    out += ']';
  } else {
    out += '{';
    AppendMesh(out, mesh);
    bool plain = named.dims.empty() && named.replicated.empty();
    bool all_manual = named.unreduced.empty() && IsEveryAxis(mesh, named.manual);
    bool all_unreduced = named.manual.empty() && IsEveryAxis(mesh, named.unreduced);
    if (plain && named.manual.empty() && named.unreduced.empty()) {
      out += ", replicated";
    } else if (plain && all_manual) {
      out += ", manual";
    } else if (plain && all_unreduced) {
      out += ", unreduced";
    } else {
      out += ", [";
      for (size_t i = 0; i < named.dims.size(); ++i) {
        if (i != 0) out += ", ";
        AppendDimSharding(out, mesh, named.dims[i]);
      }
      out += ']';
      AppendAxesField(out, "replicated", mesh, named.replicated);
      AppendAxesField(out, "unreduced", mesh, named.unreduced);
      AppendAxesField(out, "manual", mesh, named.manual);
    }
  }
  if (!named.metadata.empty()) {
    out += ", metadata={";
    for (size_t i = 0; i < named.metadata.size(); ++i) {
      if (i != 0) out += ", ";
      AppendMetadataFields(out, named.metadata[i]);
    }
    out += '}';
  }
  out += '}';
}

// --- OpSharding.

enum ShardingType : int64_t {
  kReplicated = 0,
  kMaximal = 1,
  kTuple = 2,
  kOther = 3,
  kManual = 4,
  kUnknown = 5,
  kUnreduced = 6
};

struct Sharding {
  int64_t type = kReplicated;
  std::vector<int64_t> dims, devices, last_tile_dims, iota_dims, iota_permutation;
  std::vector<std::string_view> tuple, metadata;
  std::string_view named;
  bool has_named = false;
  bool replicate_last = false;
  bool in_group = false;
  int64_t group = 0;
  bool group_like = false;
};

Sharding DecodeSharding(std::string_view message) {
  Sharding sharding;
  for (Cursor cursor(message); cursor.Next();) {
    switch (cursor.field()) {
      case 1:
        sharding.type = cursor.Int();
        break;
      case 3:
        Collect(cursor, sharding.dims);
        break;
      case 4:
        Collect(cursor, sharding.devices);
        break;
      case 5:
        sharding.tuple.push_back(cursor.Message());
        break;
      case 6:
        sharding.replicate_last = cursor.Int() != 0;
        break;
      case 7:
        sharding.metadata.push_back(cursor.Message());
        break;
      case 8:
        Collect(cursor, sharding.last_tile_dims);
        break;
      case 9:
        Collect(cursor, sharding.iota_dims);
        break;
      case 10:
        Collect(cursor, sharding.iota_permutation);
        break;
      case 11:
        sharding.in_group = cursor.Int() != 0;
        break;
      case 12:
        sharding.group = cursor.Int();
        break;
      case 13:
        sharding.group_like = cursor.Int() != 0;
        break;
      case 14:
        sharding.named = cursor.Message();
        sharding.has_named = true;
        break;
      default:
        break;
    }
  }
  return sharding;
}

std::string_view TypeWord(int64_t type) {
  switch (type) {
    case kReplicated:
      return "replicated";
    case kMaximal:
      return "maximal";
    case kManual:
      return "manual";
    case kUnknown:
      return "unknown";
    case kUnreduced:
      return "unreduced";
    default:
      throw Damage(fmt::format("sharding type {} has no spelling", type));
  }
}

void AppendTiles(std::string& out, const Sharding& sharding) {
  out += "devices=[";
  AppendJoined(out, sharding.dims);
  out += ']';
  if (!sharding.iota_dims.empty()) {
    out += "<=";
    AppendIota(out, sharding.iota_dims, sharding.iota_permutation);
  } else {
    AppendJoined(out, sharding.devices);
  }
  if (sharding.replicate_last) out += " last_tile_dim_replicate";
  if (sharding.last_tile_dims.empty()) return;
  out += " last_tile_dims={";
  for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
    if (i != 0) out += ", ";
    out += TypeWord(sharding.last_tile_dims[i]);
  }
  out += '}';
}

// Any sharding but a tuple.
void AppendOneSharding(std::string& out, const Sharding& sharding) {
  if (sharding.has_named) return AppendNamedSharding(out, sharding.named);
  out += '{';
  if (sharding.type == kOther) {
    AppendTiles(out, sharding);
  } else {
    out += TypeWord(sharding.type);
    if (sharding.type == kMaximal) {
      out += " device=";
      AppendInt(out, sharding.devices.empty() ? 0 : sharding.devices[0]);
    }
  }
  if (sharding.in_group) {
    out += sharding.group_like ? " shard_like " : " shard_as ";
    AppendInt(out, sharding.group);
  }
  if (!sharding.metadata.empty()) {
    out += " metadata=";
    AppendMetadataList(out, sharding.metadata);
  }
  out += '}';
}

// "[2,4]<=[4,2]T(1,0)"
void AppendIotaGroups(std::string& out, std::string_view message) {
  int64_t groups = 0;
  int64_t size = 0;
  std::vector<int64_t> dims, permutation;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) groups = cursor.Int();
    if (cursor.field() == 2) size = cursor.Int();
    if (cursor.field() == 3) Collect(cursor, dims);
    if (cursor.field() == 4) Collect(cursor, permutation);
  }
  out += '[';
  AppendInt(out, groups);
  out += ',';
  AppendInt(out, size);
  out += "]<=";
  AppendIota(out, dims, permutation);
}

void AppendMeshGroups(std::string& out, std::string_view message) {
  Mesh mesh;
  std::vector<std::string_view> axes;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) mesh = DecodeMesh(cursor.Message());
    if (cursor.field() == 2) axes.push_back(cursor.Message());
  }
  AppendMesh(out, mesh);
  out += " {";
  AppendAxes(out, mesh, axes, ",");
  out += '}';
}

void AppendGroup(std::string& out, std::string_view replica_group) {
  std::vector<int64_t> ids;
  for (Cursor cursor(replica_group); cursor.Next();) {
    if (cursor.field() == 1) Collect(cursor, ids);
  }
  AppendInts(out, ids);
}

}  // namespace

void AppendSharding(std::string& out, std::string_view op_sharding) {
  Sharding sharding = DecodeSharding(op_sharding);
  if (sharding.type != kTuple) return AppendOneSharding(out, sharding);
  out += '{';
  for (size_t i = 0; i < sharding.tuple.size(); ++i) {
    if (i != 0) out += ", ";
    // Tuple shardings are flat: one per leaf.
    Sharding element = DecodeSharding(sharding.tuple[i]);
    if (element.type == kTuple) throw Damage("sharding tuple inside a sharding tuple");
    AppendOneSharding(out, element);
  }
  out += '}';
}

void AppendReplicaGroups(std::string& out, const Instruction& collective) {
  if (const Attribute* iota = collective.Find(Field::kIotaCollectiveDeviceList)) {
    return AppendIotaGroups(out, iota->bytes);
  }
  if (const Attribute* mesh = collective.Find(Field::kMeshAxesReplicaGroupList)) {
    return AppendMeshGroups(out, mesh->bytes);
  }
  std::vector<std::string_view> groups;
  if (const Attribute* list = collective.Find(Field::kCollectiveDeviceList)) {
    for (Cursor cursor(list->bytes); cursor.Next();) {
      if (cursor.field() == 1) groups.push_back(cursor.Message());
      // Before 0.10 the iota form stood in here.
      if (cursor.field() == 2) return AppendIotaGroups(out, cursor.Message());
    }
  } else {
    for (const Attribute& attribute : collective.attributes) {
      if (attribute.field == Field::kReplicaGroups) groups.push_back(attribute.bytes);
    }
  }
  out += '{';
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i != 0) out += ',';
    AppendGroup(out, groups[i]);
  }
  out += '}';
}

}  // namespace eightfold::hlo::text
