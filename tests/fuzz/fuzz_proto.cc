#include <cstdlib>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

using namespace eightfold;

// Any bytes give a module or an error. A module that verifies can be written, and its proto reads
// back. It may hold what has no text (bytes that are no UTF-8, say), but trying must not crash.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  auto module = hlo::ReadProto(Source::FromBytes("input", std::move(bytes)));
  if (!module || !hlo::Verify(**module)) return 0;
  (void)hlo::WriteText(**module);
  auto proto = hlo::WriteProto(**module);
  if (!proto || !hlo::ReadProto(Source::FromBytes("written", *proto))) std::abort();
  return 0;
}
