#include <cstdlib>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

using namespace eightfold;

// Any bytes give a module or an error. A module that verifies can be written both ways, and its
// text reads back.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  auto module = hlo::ReadText(Source::FromBytes("input", std::move(bytes)));
  if (!module || !hlo::Verify(**module)) return 0;
  if (!hlo::WriteProto(**module)) std::abort();
  auto text = hlo::WriteText(**module);
  if (!text || !hlo::ReadText(Source::FromBytes("printed", *text))) std::abort();
  return 0;
}
