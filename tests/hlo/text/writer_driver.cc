// Writes modules as text, for writer_oracle_test.py: standard input has one line
// "INPUT<tab>OUTPUT" per module; protos end in .pb, all else is text. Prints "ok" or the error for
// each. With an argument, every module is written that many times and the rate in MB/s printed.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"

namespace {

using namespace eightfold;

Result<std::string> Rewrite(const std::string& input, int times) {
  EF_TRY(std::shared_ptr<const Source> source, Source::Open(input));
  auto read = input.ends_with(".pb") ? hlo::ReadProto(source) : hlo::ReadText(source);
  EF_TRY(std::unique_ptr<hlo::Module> module, std::move(read));
  auto start = std::chrono::steady_clock::now();
  for (int i = 1; i < times; ++i) EF_CHECK_OK(hlo::WriteText(*module));
  EF_TRY(std::string text, hlo::WriteText(*module));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (times > 1) std::cout << static_cast<double>(text.size()) * times / took.count() / 1e6 << '\n';
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  int times = argc > 1 ? std::atoi(argv[1]) : 1;
  for (std::string line; std::getline(std::cin, line);) {
    size_t tab = line.find('\t');
    if (tab == std::string::npos) return 2;
    Result<std::string> text = Rewrite(line.substr(0, tab), times);
    if (text) {
      Result<void> written = WriteFile(line.substr(tab + 1), *text);
      std::cout << (written ? "ok" : "cannot write") << std::endl;
    } else {
      std::string message = text.error().Format();
      for (char& c : message) c = c == '\n' ? ' ' : c;
      std::cout << message << std::endl;
    }
  }
  return 0;
}
