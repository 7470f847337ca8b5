#include "fix/stack_frames.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "hlo/wire.h"

namespace eightfold::fix {
namespace {

// HloModuleProto.stack_frame_index, its stack_frames, and a frame's fields.
constexpr hlo::Field kIndex{17};
constexpr uint32_t kFrames = 4;
constexpr uint32_t kLocation = 1;
constexpr uint32_t kParent = 2;

uint64_t LocationOf(std::string_view frame) {
  hlo::wire::Cursor cursor(frame);
  while (cursor.Next()) {
    if (cursor.field() == kLocation) return cursor.scalar();
  }
  return 0;
}

std::string Chained(std::string_view index) {
  std::string out;
  protozero::pbf_writer writer(out);
  uint64_t last = 0;
  hlo::wire::Cursor cursor(index);
  while (cursor.Next()) {
    if (cursor.field() != kFrames) {
      out += cursor.raw();
      continue;
    }
    protozero::pbf_writer frame(writer, kFrames);
    frame.add_uint64(kLocation, LocationOf(cursor.Message()));
    if (last != 0) frame.add_uint64(kParent, last);
    ++last;
  }
  return out;
}

}  // namespace

void ChainStackFrames(hlo::Module& module) {
  auto index = std::ranges::find(module.attributes, kIndex, &hlo::Attribute::field);
  if (index == module.attributes.end()) return;
  *index = hlo::Attribute::Bytes(kIndex, module.arena.Copy(Chained(index->bytes)));
}

}  // namespace eightfold::fix
