// hlo_convert_tool OUT FILE…: for the tests that compare with jaxlib. Reads each FILE (text when it
// ends in .hlo, else proto) and writes into the folder OUT, under its file name with one more
// ending:
//   .pb     the module as HloModuleProto
//   .txt    as text
//   .again  that text, read and written once more
//   .error  instead, when any of this fails
#include <filesystem>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"

namespace {

using namespace eightfold;

Result<void> Convert(const std::string& file, const std::string& out) {
  EF_TRY(auto source, Source::Open(file));
  EF_TRY(auto module, file.ends_with(".hlo") ? hlo::ReadText(source) : hlo::ReadProto(source));
  EF_TRY(std::string proto, hlo::WriteProto(*module));
  EF_CHECK_OK(WriteFile(out + ".pb", proto));
  EF_TRY(std::string text, hlo::WriteText(*module));
  EF_CHECK_OK(WriteFile(out + ".txt", text));
  EF_TRY(auto back, hlo::ReadText(Source::FromBytes(out + ".txt", text)));
  EF_TRY(std::string again, hlo::WriteText(*back));
  return WriteFile(out + ".again", again);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    std::string file = argv[i];
    std::string out =
        (std::filesystem::path(argv[1]) / std::filesystem::path(file).filename()).string();
    auto done = Convert(file, out);
    if (!done && !WriteFile(out + ".error", done.error().Format())) return 1;
  }
  return 0;
}
