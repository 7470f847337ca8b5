#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "large_module.h"

// make_large IN.pb OUT.pb OUT.hlo MEGABYTES: repeats a program until its text has about that size,
// and writes it as proto and as text.
namespace eightfold::bench {
namespace {

Result<void> Run(char** argv) {
  EF_TRY(auto source, Source::Open(argv[1]));
  EF_TRY(auto module, hlo::ReadProto(source));
  EF_TRY(std::string one, hlo::WriteText(*Repeat(*module, 1)));
  double wanted = std::atof(argv[4]) * 1e6;
  int copies = std::max(1, static_cast<int>(wanted / static_cast<double>(one.size()) + 0.5));
  auto large = Repeat(*module, copies);
  EF_TRY(std::string proto, hlo::WriteProto(*large));
  EF_CHECK_OK(WriteFile(argv[2], proto));
  EF_TRY(std::string text, hlo::WriteText(*large));
  return WriteFile(argv[3], text);
}

int Main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: make_large IN.pb OUT.pb OUT.hlo MEGABYTES\n", stderr);
    return 2;
  }
  auto done = Run(argv);
  if (done) return 0;
  fmt::print(stderr, "{}\n", done.error().Format());
  return 1;
}

}  // namespace
}  // namespace eightfold::bench

int main(int argc, char** argv) { return eightfold::bench::Main(argc, argv); }
