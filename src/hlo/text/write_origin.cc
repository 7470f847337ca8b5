#include <fmt/format.h>

#include <algorithm>

#include "hlo/proto/proto.h"
#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

using wire::Cursor;
using wire::Damage;

// OriginalArrayProto: `"o2" {1,2}`.
void AppendArray(std::string& out, std::string_view message) {
  std::string_view name;
  std::vector<int64_t> index;
  for (Cursor cursor(message); cursor.Next();) {
    if (cursor.field() == 1) name = cursor.Message();
    if (cursor.field() == 2) cursor.Ints([&](int64_t i) { index.push_back(i); });
  }
  AppendQuoted(out, name);
  if (index.empty()) return;
  out += ' ';
  AppendInts(out, index);
}

struct Leaf {
  std::vector<int64_t> path;  // where it is in the tuple
  std::string_view array;
  bool has_array = false;
};

// Prints the tuple tree that the leaves, sorted by path, are the leaves of.
void AppendTree(std::string& out, const std::vector<Leaf>& leaves) {
  size_t depth = 0;  // open tuples
  const std::vector<int64_t>* before = nullptr;
  for (const Leaf& leaf : leaves) {
    size_t common = 0;
    if (before != nullptr) {
      while (common < before->size() && common < leaf.path.size() &&
             (*before)[common] == leaf.path[common]) {
        ++common;
      }
      if (common == before->size() || common == leaf.path.size()) {
        throw Damage("has two values for one place");
      }
      for (; depth > common + 1; --depth) out += ')';
      out += ", ";
    }
    for (; depth < leaf.path.size(); ++depth) out += '(';
    out += '{';
    if (leaf.has_array) AppendArray(out, leaf.array);
    out += '}';
    before = &leaf.path;
  }
  for (; depth > 0; --depth) out += ')';
}

// Recovery modules may hold recovery tables in turn: no further than this.
constexpr int kDeepestRecovery = 3;

}  // namespace

void Writer::WriteOrigin(std::string_view wire) {
  std::vector<Leaf> leaves;
  bool synthetic = false;
  for (Cursor cursor(wire); cursor.Next();) {
    if (cursor.field() == 2) synthetic = cursor.Int() != 0;
    if (cursor.field() != 1) continue;
    Leaf& leaf = leaves.emplace_back();
    for (Cursor element(cursor.Message()); element.Next();) {
      if (element.field() == 1) element.Ints([&](int64_t i) { leaf.path.push_back(i); });
      if (element.field() == 2) {
        leaf.array = element.Message();
        leaf.has_array = true;
      }
    }
  }
  out_ += ", origin={";
  if (synthetic) {
    out_ += "[synthetic_call]";
  } else if (leaves.empty()) {
    out_ += "()";
  } else {
    std::ranges::stable_sort(leaves, {}, &Leaf::path);
    AppendTree(out_, leaves);
  }
  out_ += '}';
}

// The module's text, indented, as the content of a string: XLA leaves its quotes as they are and
// cannot read them back.
void Writer::AppendRecoveryModule(std::string_view module_proto) {
  if (depth_ == kDeepestRecovery) throw Damage("recovery tables are nested too deep");
  auto module = ReadProto(Source::FromBytes("recovery module", std::string(module_proto)));
  if (!module) throw Damage("recovery module: " + module.error().what);
  Writer writer(**module, options_);
  writer.depth_ = depth_ + 1;
  Result<std::string> text = writer.Write();
  if (!text) throw Damage("recovery module: " + text.error().what);
  bool at_line_start = true;
  for (char c : *text) {
    if (at_line_start && c != '\n') out_ += "    ";
    at_line_start = c == '\n';
    if (c == '"' || c == '\\') out_ += '\\';
    out_ += c;
  }
}

// OriginalValueRecoveryTableProto. Each entry holds a module, which is printed inside a string.
void Writer::WriteRecoveryTable(std::string_view wire) {
  out_ += ", origin_recovery_table={\n";
  for (Cursor entries(wire); entries.Next();) {
    if (entries.field() != 1) continue;
    std::string_view old_array;
    std::string_view new_array;
    std::string_view recovery;
    for (Cursor entry(entries.Message()); entry.Next();) {
      if (entry.field() == 1) old_array = entry.Message();
      if (entry.field() == 2) new_array = entry.Message();
      if (entry.field() == 3) recovery = entry.Message();
    }
    out_ += "  {";
    AppendArray(out_, old_array);
    out_ += "} : {";
    AppendArray(out_, new_array);
    out_ += "},\n  \"";
    if (!recovery.empty()) {
      out_ += '\n';
      AppendRecoveryModule(recovery);
      out_ += "\n  ";
    }
    out_ += "\"\n";
  }
  out_ += "}\n";
}

}  // namespace eightfold::hlo::text
