#include <cstdlib>
#include <string>

#include "hlo/proto/proto.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"
#include "hlo/views.h"

using namespace eightfold;

namespace {

// Views take any bytes.
void DecodeAll(const hlo::Module& module) {
  hlo::StackFrames frames(module);
  for (const hlo::Computation* computation : module.computations) {
    for (const hlo::Instruction* instruction : computation->instructions) {
      (void)hlo::DecodeWindow(instruction->Bytes(hlo::Field::kWindow));
      (void)hlo::DecodeConvolutionDimensions(
          instruction->Bytes(hlo::Field::kConvolutionDimensionNumbers));
      (void)hlo::DecodeDotDimensions(*instruction);
      (void)hlo::DecodeSlice(*instruction);
      (void)hlo::DecodePadding(*instruction);
      (void)hlo::Dimensions(*instruction);
      (void)frames.Walk(hlo::DecodeMetadata(instruction->metadata).stack_frame_id);
      (void)hlo::ByteSize(*instruction->shape);
      (void)hlo::ToString(*instruction->shape);
    }
  }
}

// What was written reads back, and is written the same again.
void Rewrite(const hlo::Module& module, hlo::IdScheme ids) {
  auto once = hlo::WriteProto(module, hlo::ProtoKind::kModule, ids);
  if (!once) return;  // a cycle
  auto again = hlo::ReadProto(Source::FromBytes("written", *once));
  if (!again) std::abort();
  auto twice = hlo::WriteProto(**again, hlo::ProtoKind::kModule, ids);
  if (!twice || *twice != *once) std::abort();
}

}  // namespace

// Any bytes give a module or an error. A module may hold what has no text (bytes that are no UTF-8,
// say), but trying must not crash.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  auto module = hlo::ReadProto(Source::FromBytes("input", std::move(bytes)));
  if (!module) {
    (void)module.error().Format();
    return 0;
  }
  DecodeAll(**module);
  Rewrite(**module, hlo::IdScheme::kPerComputation);
  Rewrite(**module, hlo::IdScheme::kSequential);
  Rewrite(**module, hlo::IdScheme::kKeep);
  if (!hlo::Verify(**module)) return 0;
  (void)hlo::WriteText(**module);
  if (!hlo::WriteProto(**module)) std::abort();
  return 0;
}
