#include <fmt/format.h>

#include "hlo/text/writer.h"
#include "hlo/to_string.h"
#include "hlo/wire.h"

namespace eightfold::hlo::text {
namespace {

// Braces of empty rows cost output without any input: beyond this many a literal is refused.
constexpr int64_t kMostEmptyRows = 1 << 20;

class ArrayPrinter {
 public:
  ArrayPrinter(std::string& out, const Literal& literal)
      : out_(out), literal_(literal), format_(FloatFormatOf(literal.type())) {}

  void Print() {
    if (literal_.dims().empty()) return PrintElement(0);
    CheckEmptyRows();
    PrintNested();
  }

 private:
  std::span<const int64_t> dims() const { return literal_.dims(); }

  void CheckEmptyRows() const {
    if (literal_.size() != 0) return;
    int64_t rows = 1;
    for (int64_t dim : dims()) {
      if (dim == 0) return;
      if (__builtin_mul_overflow(rows, dim, &rows) || rows > kMostEmptyRows) {
        throw wire::Damage("literal has no elements but too many rows to print");
      }
    }
  }

  // One level of braces per dimension, kept on a stack: the rank comes from the input.
  void PrintNested() {
    std::vector<int64_t> index;
    Open(index);
    index.push_back(0);
    while (!index.empty()) {
      size_t level = index.size() - 1;
      bool innermost = index.size() == dims().size();
      if (innermost) {
        PrintRow();
        index[level] = dims()[level];
      }
      if (index[level] == dims()[level]) {
        Close(level);
        index.pop_back();
        if (index.empty()) break;
        ++index.back();
        if (index.back() != dims()[index.size() - 1]) out_ += ", ";
        continue;
      }
      Open(index);
      index.push_back(0);
    }
  }

  // The brace of the dimension behind `index`.
  void Open(const std::vector<int64_t>& index) {
    size_t rank = dims().size();
    out_ += '{';
    if (index.size() + 1 == rank) {
      if (rank > 1 && dims().back() > 1) out_ += ' ';
      return;
    }
    // From four dimensions on XLA says where it is.
    if (rank > 3 && !index.empty()) {
      out_ += " /*i";
      AppendInt(out_, static_cast<int64_t>(index.size()) - 1);
      out_ += '=';
      AppendInt(out_, index.back());
      out_ += "*/";
    }
    out_ += ' ';
  }

  void Close(size_t level) {
    bool innermost = level + 1 == dims().size();
    if (!innermost || (dims().size() > 1 && dims().back() > 1)) out_ += ' ';
    out_ += '}';
  }

  void PrintRow() {
    for (int64_t i = 0; i < dims().back(); ++i) {
      if (i != 0) out_ += ", ";
      PrintElement(next_++);
    }
  }

  void PrintElement(int64_t i) {
    switch (literal_.type()) {
      case PrimitiveType::kPred:
        // Words for a scalar, digits in arrays.
        if (dims().empty()) {
          out_ += literal_.Bits(i) != 0 ? "true" : "false";
        } else {
          out_ += literal_.Bits(i) != 0 ? '1' : '0';
        }
        return;
      case PrimitiveType::kU64:
        out_ += fmt::format_int(literal_.Bits(i)).c_str();
        return;
      case PrimitiveType::kC64:
        return PrintComplex(kFloatF32, i);
      case PrimitiveType::kC128:
        return PrintComplex(kFloatF64, i);
      default:
        break;
    }
    if (format_ != nullptr) {
      AppendFloatBits(out_, *format_, literal_.Bits(i));
    } else {
      AppendInt(out_, literal_.AsInt(i));
    }
  }

  void PrintComplex(const FloatFormat& format, int64_t i) {
    out_ += '(';
    AppendFloatBits(out_, format, literal_.Bits(i, 0));
    out_ += ", ";
    AppendFloatBits(out_, format, literal_.Bits(i, 1));
    out_ += ')';
  }

  std::string& out_;
  const Literal& literal_;
  const FloatFormat* format_;
  int64_t next_ = 0;
};

}  // namespace

void AppendLiteral(std::string& out, std::string_view wire) {
  struct Frame {
    std::vector<std::string_view> elements;
    size_t next = 0;
  };
  std::vector<Frame> tuples;
  // Prints an array, opens a tuple.
  auto print = [&](std::string_view literal_wire) {
    Literal literal = Literal::Decode(literal_wire);
    if (!literal.ok()) throw wire::Damage("literal " + literal.error());
    if (literal.type() != PrimitiveType::kTuple) return ArrayPrinter(out, literal).Print();
    out += "( ";
    tuples.push_back({literal.tuple()});
  };
  print(wire);
  while (!tuples.empty()) {
    Frame& top = tuples.back();
    if (top.next == top.elements.size()) {
      out += " )";
      tuples.pop_back();
      continue;
    }
    if (top.next != 0) out += ", ";
    print(top.elements[top.next++]);
  }
}

}  // namespace eightfold::hlo::text
