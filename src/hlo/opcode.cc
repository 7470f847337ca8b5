#include "hlo/opcode.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace eightfold::hlo {
namespace {

// What every opcode takes, besides its own row.
constexpr std::string_view kCommonAttributes =
    "sharding frontend_attributes control-predecessors statistics origin metadata backend_config";

struct Row {
  std::string_view name;
  int fewest;
  int most;
  std::string_view attributes;
};
constexpr std::array<Row, kOpcodeCount> kRows = {{
#define OPCODE(enumerator, text, fewest, most, attributes) {text, fewest, most, attributes},
#include "hlo/opcodes.def"
#undef OPCODE
}};

struct Table {
  std::array<OpcodeInfo, kOpcodeCount> infos;
  std::array<std::vector<TextAttribute>, kOpcodeCount> attributes;
  std::unordered_map<std::string_view, Opcode, BytesHash> by_name;

  Table() {
    AttributeSet common;
    ForEachWord(kCommonAttributes, [&](TextAttribute a, bool) { common.set(Index(a)); });
    for (size_t i = 0; i < kRows.size(); ++i) {
      OpcodeInfo& info = infos[i];
      info = {kRows[i].name, kRows[i].fewest, kRows[i].most, {}, common, {}};
      ForEachWord(kRows[i].attributes, [&](TextAttribute a, bool required) {
        attributes[i].push_back(a);
        info.allowed.set(Index(a));
        if (required) info.required.set(Index(a));
      });
      info.attributes = attributes[i];
      by_name.emplace(info.name, static_cast<Opcode>(i));
    }
  }

  static size_t Index(TextAttribute attribute) { return static_cast<size_t>(attribute); }

  template <class Visit>
  static void ForEachWord(std::string_view words, Visit visit) {
    while (!words.empty()) {
      size_t end = std::min(words.find(' '), words.size());
      std::string_view word = words.substr(0, end);
      words.remove_prefix(std::min(end + 1, words.size()));
      if (word.empty()) continue;
      bool required = word.back() == '!';
      if (required) word.remove_suffix(1);
      auto attribute = FindTextAttribute(word);
      if (!attribute) throw std::logic_error("opcodes.def names no attribute of attributes.def");
      visit(*attribute, required);
    }
  }
};

const Table& TheTable() {
  static const Table* const table = new Table;
  return *table;
}

}  // namespace

const OpcodeInfo& Info(Opcode opcode) { return TheTable().infos[static_cast<size_t>(opcode)]; }

std::optional<Opcode> FindOpcode(std::string_view name) {
  const auto& by_name = TheTable().by_name;
  auto it = by_name.find(name);
  if (it == by_name.end()) return std::nullopt;
  return it->second;
}

std::string_view NearestOpcode(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return Nearest(name, names);
}

bool IsElementwiseUnary(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCeil:
    case Opcode::kClz:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kFloor:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kPopulationCount:
    case Opcode::kReducePrecision:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kRsqrt:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return true;
    default:
      return false;
  }
}

bool IsElementwiseBinary(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kAtan2:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMulhi:
    case Opcode::kMultiply:
    case Opcode::kOr:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kSubtract:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

}  // namespace eightfold::hlo
