#include <fmt/format.h>

#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "hlo/text/reader.h"

// In XLA no two instructions of a module have the same name. Text may use one in every computation;
// XLA's parser then numbers them, and so do we: "a", "a.1", "a.2".
namespace eightfold::hlo::text {
namespace {

// Whether any two names of the module are equal. Rarely, names that are not are taken to be.
bool HasTwins(const std::vector<Computation*>& computations) {
  size_t count = 0;
  for (const Computation* computation : computations) count += computation->instructions.size();
  size_t bits = 64;
  while (bits < 64 * count) bits *= 2;
  std::vector<uint64_t> filter(bits / 64);
  std::unordered_set<std::string_view, BytesHash> suspects;
  auto each = [&](auto visit) {
    for (const Computation* computation : computations) {
      for (const Instruction* instruction : computation->instructions) {
        if (visit(instruction->name)) return true;
      }
    }
    return false;
  };
  std::vector<std::string_view> collided;
  each([&](std::string_view name) {
    uint64_t hash = HashBytes(name) & (bits - 1);
    uint64_t bit = uint64_t{1} << (hash % 64);
    if ((filter[hash / 64] & bit) != 0) collided.push_back(name);
    filter[hash / 64] |= bit;
    return false;
  });
  if (collided.empty()) return false;
  for (std::string_view name : collided) {
    if (!suspects.insert(name).second) return true;
  }
  // Each suspect once is itself; twice is a twin.
  std::unordered_set<std::string_view, BytesHash> seen;
  return each(
      [&](std::string_view name) { return suspects.contains(name) && !seen.insert(name).second; });
}

// XLA's numbering: a name is a root and the number behind its last dot, 0 when there is none. A
// taken number is replaced by the root's lowest free one.
class Numberer {
 public:
  // The number to use for `name` instead of its own; nothing when its own is free. `root` is set.
  std::optional<uint64_t> Replace(std::string_view name, std::string_view* root) {
    uint64_t number = 0;
    *root = name;
    size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && dot > 0 && dot + 1 < name.size()) {
      auto [stop, problem] =
          std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
      bool is_number = problem == std::errc{} && stop == name.data() + name.size();
      if (is_number) *root = name.substr(0, dot);
      if (!is_number) number = 0;
    }
    Numbers& numbers = numbers_[*root];
    if (numbers.used.insert(number).second) return std::nullopt;
    while (!numbers.used.insert(numbers.next).second) ++numbers.next;
    return numbers.next++;
  }

 private:
  struct Numbers {
    std::unordered_set<uint64_t> used;
    uint64_t next = 0;
  };
  std::unordered_map<std::string_view, Numbers, BytesHash> numbers_;
};

}  // namespace

void Reader::MakeNamesUnique() {
  if (!HasTwins(computations_)) return;
  Numberer numberer;
  for (const Computation* computation : computations_) {
    for (Instruction* instruction : computation->instructions) {
      std::string_view root;
      auto number = numberer.Replace(instruction->name, &root);
      if (!number) continue;
      std::string_view name = module_.arena.Copy(
          std::string_view(*number == 0 ? std::string(root) : fmt::format("{}.{}", root, *number)));
      module_.renamed.emplace(name.data(), instruction->name);
      instruction->name = name;
    }
  }
}

}  // namespace eightfold::hlo::text
