#include "cli/output.h"

#include <fmt/format.h>

#include "base/source.h"
#include "hlo/text/text.h"

namespace eightfold::cli {

Result<OutputForm> FormOf(const std::string& path, OutputForm of_stdout) {
  if (path == "-") return of_stdout;
  if (path.ends_with(".pb")) return OutputForm::kProto;
  if (path.ends_with(".hlo") || path.ends_with(".txt")) return OutputForm::kText;
  constexpr char kAdvice[] = "end it with .pb for a proto, with .hlo or .txt for text";
  if (path.empty()) return Fail("the name of the file to write is empty", kAdvice);
  return Fail(fmt::format("cannot tell from its name what {} is to be", path), kAdvice);
}

Result<void> WriteModule(const hlo::Module& module, OutputForm form, const std::string& path,
                         const WriteOptions& options) {
  EF_TRY(std::string bytes, form == OutputForm::kText
                                ? hlo::WriteText(module)
                                : hlo::WriteProto(module, options.kind, options.ids));
  return WriteFile(path, bytes);
}

}  // namespace eightfold::cli
