#include "cli/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

namespace eightfold::cli {
namespace {

// How much of a file is looked at to tell text from binary.
constexpr size_t kProbedBytes = 4096;
constexpr std::string_view kSpace = " \t\r\n";

// What StableHLO text may start with, besides aliases: an operation.
constexpr std::array<std::string_view, 6> kMlirStarts = {
    "module ", "module@", "module{", "module\n", "func.func", "\"builtin.module\""};

std::string_view SkipSpaceAndComments(std::string_view text) {
  while (true) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kSpace)));
    size_t end;
    if (text.starts_with("//")) {
      end = text.find('\n');
    } else if (text.starts_with("/*")) {
      end = text.find("*/");
      if (end != std::string_view::npos) end += 2;
    } else {
      return text;
    }
    text.remove_prefix(std::min(text.size(), end));
  }
}

// `#loc1 = loc(…)`, `!type = …`: unlike a comment or heading in other languages, no space follows
// the sign.
bool IsMlirAlias(std::string_view text) {
  if (text.size() < 2 || (text[0] != '#' && text[0] != '!')) return false;
  auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  size_t end = 1;
  while (end < text.size() && is_name(text[end])) ++end;
  return end > 1 && text.substr(end).starts_with(" =");
}

// A protobuf of ours starts with field 1 of wire type 2 and has control characters among its first
// tags and lengths, which no text has.
bool LooksBinary(std::string_view bytes) {
  std::string_view probed = bytes.substr(0, kProbedBytes);
  return std::any_of(probed.begin(), probed.end(), [](char c) {
    return static_cast<unsigned char>(c) < 32 && kSpace.find(c) == std::string_view::npos;
  });
}

}  // namespace

std::string_view Name(InputKind kind) {
  switch (kind) {
    case InputKind::kHloText:
      return "HLO text";
    case InputKind::kHloProto:
      return "HLO proto";
    case InputKind::kStableHloText:
      return "StableHLO text";
    case InputKind::kStableHloBytecode:
      return "StableHLO bytecode";
    case InputKind::kDumpDirectory:
      return "XLA dump directory";
  }
  return "";
}

InputKind DetectKind(std::string_view bytes) {
  if (bytes.starts_with("ML\xefR")) return InputKind::kStableHloBytecode;
  std::string_view text = SkipSpaceAndComments(bytes);
  // A module's name may be "HloModule" in a proto too; there no space follows it.
  if (text.starts_with("HloModule ")) return InputKind::kHloText;
  if (LooksBinary(bytes)) return InputKind::kHloProto;
  for (std::string_view start : kMlirStarts) {
    if (text.starts_with(start)) return InputKind::kStableHloText;
  }
  if (IsMlirAlias(text)) return InputKind::kStableHloText;
  return InputKind::kHloText;
}

Result<Input> OpenInput(const std::string& path) {
  std::error_code error;
  if (path != "-" && std::filesystem::is_directory(path, error)) {
    return Input{.path = path, .kind = InputKind::kDumpDirectory, .source = nullptr};
  }
  EF_TRY(std::shared_ptr<const Source> source, Source::Open(path));
  InputKind kind = DetectKind(source->bytes());
  return Input{.path = path, .kind = kind, .source = std::move(source)};
}

Result<std::unique_ptr<hlo::Module>> LoadModule(const Input& input) {
  switch (input.kind) {
    case InputKind::kHloText:
    case InputKind::kHloProto: {
      auto read = input.kind == InputKind::kHloText ? hlo::ReadText(input.source)
                                                    : hlo::ReadProto(input.source);
      if (!read) return read;
      EF_CHECK_OK(hlo::Verify(**read));
      return read;
    }
    case InputKind::kStableHloText:
    case InputKind::kStableHloBytecode:
      return Fail(fmt::format("{} is {}, not HLO", input.source->name(), Name(input.kind)),
                  "eightfold compile turns it into HLO: eightfold compile PROGRAM -o OUT.hlo");
    case InputKind::kDumpDirectory:
      return Fail(fmt::format("{} is a directory", input.path), "name one of the files in it");
  }
  return Fail("unknown kind of input");
}

}  // namespace eightfold::cli
