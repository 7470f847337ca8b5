#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "hlo/text/attribute_reader.h"

namespace eightfold::hlo::text {

using protozero::pbf_writer;

namespace {

// OpSharding.Type by number; the tuple and tiled kinds have no word of their own.
constexpr std::string_view kTypes[] = {"replicated", "maximal", "",         "",
                                       "manual",     "unknown", "unreduced"};
// Axes are looked up one by one.
constexpr size_t kMostAxes = 256;
constexpr int kMaximal = 1, kTuple = 2, kOther = 3;

int FindType(std::string_view word) {
  auto found = std::ranges::find(kTypes, word);
  return word.empty() || found == std::end(kTypes) ? -1 : static_cast<int>(found - kTypes);
}

// The part of a mesh axis that a sharding uses: [from, to) of its size as a product of factors.
struct AxisUse {
  int64_t axis;
  int64_t from;
  int64_t to;  // 0: all of it
};

class ShardingReader {
 public:
  explicit ShardingReader(Scanner& in) : in_(in) {}

  bool Read(std::string* wire) {
    if (!in_.Expect('{')) return false;
    pbf_writer writer(*wire);
    if (in_.Peek() != '{' && in_.Peek() != '}') return ReadOne(wire);
    writer.add_enum(1, kTuple);
    while (in_.Peek() == '{') {
      std::string element;
      in_.Accept('{');
      if (!ReadOne(&element)) return false;
      writer.add_message(5, element);
      if (!in_.Accept(',')) break;
    }
    return in_.Expect('}');
  }

 private:
  // Everything up to and including `}`.
  bool ReadOne(std::string* wire) {
    if (in_.AcceptWord("mesh") || in_.AcceptWord("maximal_mesh")) {
      bool is_maximal = *(in_.at() - 5) == '_';
      std::string named;
      if (!(is_maximal ? ReadMaximalMesh(&named) : ReadNamed(&named))) return false;
      pbf_writer(*wire).add_message(14, named);
      return in_.Expect('}');
    }
    pbf_writer writer(*wire);
    while (!in_.Accept('}')) {
      std::string_view word;
      if (!in_.ReadWord(&word, "a kind of sharding") || !ReadPart(word, wire)) return false;
    }
    return true;
  }

  bool ReadPart(std::string_view word, std::string* wire) {
    pbf_writer writer(*wire);
    if (int type = FindType(word); type >= 0) {
      if (type != 0) writer.add_enum(1, type);
      return true;
    }
    if (word == "device") {
      int64_t device = 0;
      if (!in_.Expect('=') || !in_.ReadInt(&device)) return false;
      AppendPacked(wire, 4, {&device, 1});
      return true;
    }
    if (word == "devices") return ReadDevices(wire);
    if (word == "last_tile_dim_replicate") {
      writer.add_bool(6, true);
      return true;
    }
    if (word == "last_tile_dims") return ReadLastTileDims(wire);
    if (word == "shard_as" || word == "shard_like") {
      int64_t group = 0;
      if (!in_.ReadInt(&group)) return false;
      writer.add_bool(11, true);
      writer.add_int64(12, group);
      if (word == "shard_like") writer.add_enum(13, 1);
      return true;
    }
    if (word == "metadata") return in_.Expect('=') && ReadMetadataList(wire, 7);
    return in_.Fail(word, fmt::format("a sharding has no {}", word));
  }

  bool ReadDevices(std::string* wire) {
    std::vector<int64_t> dims, list, permutation;
    pbf_writer(*wire).add_enum(1, kOther);
    if (!in_.Expect('=')) return false;
    const char* start = in_.at();
    if (!in_.ReadInts('[', ']', &dims)) return false;
    AppendPacked(wire, 3, dims);
    if (in_.Peek() == '<') {
      if (!ReadIota(in_, &list, &permutation)) return false;
      AppendPacked(wire, 9, list);
      AppendPacked(wire, 10, permutation);
      return true;
    }
    do {
      if (!in_.ReadInt(&list.emplace_back())) return false;
    } while (in_.Accept(','));
    int64_t product = 1;
    for (int64_t dim : dims) {
      if (dim < 1 || __builtin_mul_overflow(product, dim, &product)) product = -1;
      if (product < 0) break;
    }
    if (product != static_cast<int64_t>(list.size())) {
      return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                      fmt::format("[{}] needs another number of devices than {}",
                                  fmt::join(dims, ","), list.size()));
    }
    AppendPacked(wire, 4, list);
    return true;
  }

  bool ReadLastTileDims(std::string* wire) {
    std::vector<int64_t> types;
    if (!in_.Expect('=') || !in_.ReadList('{', '}', [&] {
          std::string_view word;
          if (!in_.ReadWord(&word, "replicated, manual …")) return false;
          int type = FindType(word);
          if (type < 0 || type == kMaximal) {
            return in_.Fail(word, fmt::format("`{}` is no kind of sharding", word));
          }
          types.push_back(type);
          return true;
        })) {
      return false;
    }
    AppendPacked(wire, 8, types);
    return true;
  }

  // metadata={…} or metadata={{…}, {…}}.
  bool ReadMetadataList(std::string* wire, uint32_t field) {
    in_.SkipSpace();
    const char* start = in_.at();
    bool list = in_.Accept('{') && in_.Peek() == '{';
    in_.MoveTo(start);
    auto one = [&] {
      std::string metadata;
      if (!ReadMetadata(in_, &metadata)) return false;
      pbf_writer(*wire).add_message(field, metadata);
      return true;
    };
    return list ? in_.ReadList('{', '}', one) : one();
  }

  bool ReadMaximalMesh(std::string* named) {
    int64_t device = 0;
    if (!in_.Expect('[') || !in_.AcceptText("device_id=")) return in_.Expected("`device_id=`");
    if (!in_.ReadInt(&device)) return false;
    std::string mesh;
    AppendPacked(&mesh, 2, {&device, 1});
    pbf_writer(*named).add_message(2, mesh);
    return in_.Expect(']');
  }

  bool ReadNamed(std::string* named) {
    std::string mesh;
    in_.MoveTo(in_.at() - 4);
    if (!ReadMesh(in_, &mesh, &axes_)) return false;
    pbf_writer(*named).add_message(2, mesh);
    while (in_.Accept(',')) {
      if (in_.Peek() == '[') {
        if (!in_.ReadList('[', ']', [&] { return ReadDimension(named); })) return false;
        continue;
      }
      std::string_view word;
      if (!in_.ReadWord(&word, "the dimensions, replicated=, unreduced= or manual=")) return false;
      if (word == "replicated" && in_.Peek() != '=') continue;
      uint32_t field = word == "replicated"  ? 4
                       : word == "unreduced" ? 5
                       : word == "manual"    ? 7
                                             : 0;
      if (field != 0 && in_.Peek() != '=') {
        AddEveryAxis(named, field);
        continue;
      }
      if (!in_.Expect('=')) return false;
      if (word == "metadata") {
        if (!ReadMetadataList(named, 6)) return false;
      } else if (field == 0) {
        return in_.Fail(word, fmt::format("a sharding over a mesh has no {}", word));
      } else if (!in_.ReadList('{', '}', [&] { return ReadUse(named, field); })) {
        return false;
      }
    }
    return true;
  }

  // A bare `manual` or `unreduced`: over all axes of the mesh.
  void AddEveryAxis(std::string* named, uint32_t field) const {
    for (size_t i = 0; i < axes_.size(); ++i) {
      std::string axis;
      if (i != 0) pbf_writer(axis).add_int64(1, static_cast<int64_t>(i));
      pbf_writer(*named).add_message(field, axis);
    }
  }

  bool ReadDimension(std::string* named) {
    std::string dimension;
    bool closed = true;
    if (!in_.ReadList('{', '}', [&] {
          if (in_.Accept('?')) {
            closed = false;
            return true;
          }
          return ReadUse(&dimension, 1);
        })) {
      return false;
    }
    pbf_writer writer(dimension);
    if (closed) writer.add_bool(2, true);
    pbf_writer(*named).add_message(3, dimension);
    return true;
  }

  // One axis, which must not have been used before.
  bool ReadUse(std::string* wire, uint32_t field) {
    std::string axis;
    in_.SkipSpace();
    const char* start = in_.at();
    AxisUse use{};
    if (!ReadAxisUse(&axis, &use)) return false;
    for (const AxisUse& other : uses_) {
      bool apart = other.axis != use.axis ||
                   (use.to != 0 && other.to != 0 && (use.to <= other.from || other.to <= use.from));
      if (!apart) {
        return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                        "this axis is used twice in one sharding");
      }
    }
    uses_.push_back(use);
    pbf_writer(*wire).add_message(field, axis);
    return true;
  }

  bool ReadAxisUse(std::string* wire, AxisUse* use) {
    const char* start = in_.at();
    if (!ReadAxis(in_, axes_, wire)) return false;
    const char* after = in_.at();
    std::string_view name;
    in_.MoveTo(start);
    in_.ReadString(&name);
    use->axis = std::ranges::find(axes_, name) - axes_.begin();
    if (in_.Accept(':')) {
      int64_t size = 0;
      in_.Accept('(');
      in_.ReadInt(&use->from);
      in_.Accept(')');
      in_.ReadInt(&size);
      if (__builtin_mul_overflow(use->from, size, &use->to)) use->to = 0;
    }
    in_.MoveTo(after);
    return true;
  }

  Scanner& in_;
  std::vector<std::string_view> axes_;
  std::vector<AxisUse> uses_;
};

}  // namespace

bool ReadSharding(Scanner& in, std::string* wire) { return ShardingReader(in).Read(wire); }

bool ReadIota(Scanner& in, std::vector<int64_t>* dims, std::vector<int64_t>* permutation) {
  if (!in.AcceptText("<=")) return in.Expected("`<=`");
  const char* start = in.at();
  if (!in.ReadInts('[', ']', dims)) return false;
  permutation->resize(dims->size());
  std::iota(permutation->begin(), permutation->end(), 0);
  if (!in.AcceptText("T")) return true;
  std::vector<int64_t> identity = *permutation;
  if (!in.ReadInts('(', ')', permutation)) return false;
  if (!std::ranges::is_permutation(*permutation, identity)) {
    return in.Fail(start, static_cast<size_t>(in.at() - start), "T must list every dimension once");
  }
  return true;
}

bool ReadMesh(Scanner& in, std::string* wire, std::vector<std::string_view>* axes) {
  if (!in.AcceptWord("mesh")) return in.Expected("`mesh`");
  axes->clear();
  if (!in.ReadList('[', ']', [&] {
        std::string_view name;
        int64_t size = 0;
        if (!in.ReadString(&name) || !in.Expect('=') || !in.ReadInt(&size)) return false;
        if (std::ranges::find(*axes, name) != axes->end()) {
          return in.Fail(name, fmt::format("the mesh has two axes '{}'", name));
        }
        if (axes->size() == kMostAxes) {
          return in.Fail(name, fmt::format("a mesh has at most {} axes", kMostAxes));
        }
        axes->push_back(name);
        pbf_writer writer(*wire);
        pbf_writer axis(writer, 1);
        if (!name.empty()) axis.add_string(1, name.data(), name.size());
        axis.add_int64(2, size);
        return true;
      })) {
    return false;
  }
  const char* before = in.at();
  if (!in.Accept(',') || !in.AcceptText("device_ids=")) {
    in.MoveTo(before);
    return true;
  }
  if (!in.Expect('(')) return false;
  std::vector<int64_t> ids, permutation;
  if (in.Peek() != '[') {
    do {
      if (!in.ReadInt(&ids.emplace_back())) return false;
    } while (in.Accept(','));
    AppendPacked(wire, 2, ids);
    return in.Expect(')');
  }
  if (!in.ReadInts('[', ']', &ids)) return false;
  if (in.AcceptText("T") && !in.ReadInts('(', ')', &permutation)) return false;
  if (permutation.empty()) {
    permutation.resize(ids.size());
    std::iota(permutation.begin(), permutation.end(), 0);
  }
  std::string transform;
  AppendPacked(&transform, 1, ids);
  AppendPacked(&transform, 2, permutation);
  pbf_writer(*wire).add_message(3, transform);
  return in.Expect(')');
}

bool ReadAxis(Scanner& in, const std::vector<std::string_view>& axes, std::string* wire) {
  std::string_view name;
  in.SkipSpace();
  const char* start = in.at();
  if (!in.ReadString(&name)) return false;
  auto found = std::ranges::find(axes, name);
  if (found == axes.end()) {
    return in.Fail(start, static_cast<size_t>(in.at() - start),
                   fmt::format("the mesh has no axis '{}'", name),
                   fmt::format("it has {}", fmt::join(axes, " ")));
  }
  pbf_writer writer(*wire);
  if (found != axes.begin()) writer.add_int64(1, found - axes.begin());
  if (!in.Accept(':')) return true;
  int64_t before = 0, size = 0;
  if (!in.Expect('(') || !in.ReadInt(&before) || !in.Expect(')') || !in.ReadInt(&size)) {
    return false;
  }
  pbf_writer part(writer, 2);
  part.add_int64(1, before);
  part.add_int64(2, size);
  return true;
}

bool AttributeReader::ReadReplicaGroups() {
  wire_.clear();
  char next = in_.Peek();
  if (next == '{') {
    if (!in_.ReadList('{', '}', [&] {
          if (!in_.ReadInts(&ints_)) return false;
          std::string group;
          AppendPacked(&group, 1, ints_);
          pbf_writer(wire_).add_message(1, group);
          return true;
        })) {
      return false;
    }
    AddBytes(Field::kCollectiveDeviceList, wire_);
    return true;
  }
  if (next == '[') {
    std::vector<int64_t> permutation;
    const char* start = in_.at();
    if (!in_.ReadInts('[', ']', &ints_)) return false;
    if (ints_.size() != 2) {
      return in_.Fail(start, static_cast<size_t>(in_.at() - start),
                      "replica groups have two dimensions: groups and devices in each");
    }
    pbf_writer writer(wire_);
    writer.add_int64(1, ints_[0]);
    writer.add_int64(2, ints_[1]);
    if (!ReadIota(in_, &ints_, &permutation)) return false;
    AppendPacked(&wire_, 3, ints_);
    AppendPacked(&wire_, 4, permutation);
    AddBytes(Field::kIotaCollectiveDeviceList, wire_);
    return true;
  }
  std::string mesh;
  std::vector<std::string_view> axes;
  if (!ReadMesh(in_, &mesh, &axes)) return false;
  pbf_writer(wire_).add_message(1, mesh);
  if (!in_.ReadList('{', '}', [&] {
        std::string axis;
        if (!ReadAxis(in_, axes, &axis)) return false;
        pbf_writer(wire_).add_message(2, axis);
        return true;
      })) {
    return false;
  }
  AddBytes(Field::kMeshAxesReplicaGroupList, wire_);
  return true;
}

}  // namespace eightfold::hlo::text
