#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "hlo/text/reader.h"

// In XLA no two instructions of a module have the same name. Text may use one in every computation;
// XLA's parser then numbers them, and so do we: "a", "a.1", "a.2".
namespace eightfold::hlo::text {
namespace {

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

// Whether two instructions have the same name, going by hashes: a twin that is none only costs
// time. Names that meet in a filter with few bits are looked at more closely.
bool Reader::HasTwins() const {
  size_t bits = 1024;
  while (bits < 16 * name_hashes_.size()) bits *= 2;
  auto test_and_set = [bits](std::vector<uint64_t>& filter, uint64_t hash) {
    size_t at = hash & (bits - 1);
    uint64_t bit = uint64_t{1} << (at % 64);
    bool was_set = (filter[at / 64] & bit) != 0;
    filter[at / 64] |= bit;
    return was_set;
  };
  std::vector<uint64_t> filter(bits / 64), suspected(bits / 64);
  std::vector<uint64_t> suspects;
  for (uint64_t hash : name_hashes_) {
    if (test_and_set(filter, hash)) suspects.push_back(hash);
  }
  for (uint64_t hash : suspects) test_and_set(suspected, hash);
  suspects.clear();
  for (uint64_t hash : name_hashes_) {
    size_t at = hash & (bits - 1);
    if ((suspected[at / 64] >> (at % 64) & 1) != 0) suspects.push_back(hash);
  }
  std::ranges::sort(suspects);
  return std::ranges::adjacent_find(suspects) != suspects.end();
}

void Reader::MakeNamesUnique() {
  if (!HasTwins()) return;
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
