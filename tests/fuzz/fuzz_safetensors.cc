#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "selfplay/safetensors.h"

using namespace eightfold;

namespace {

selfplay::TensorFile Sorted(selfplay::TensorFile file) {
  std::ranges::sort(file.tensors, {}, &selfplay::Tensor::name);
  return file;
}

}  // namespace

// Any bytes give tensors or an error. What was read is written so that it reads the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto file = selfplay::DecodeTensors(bytes, "input");
  if (!file) return 0;
  auto again = selfplay::DecodeTensors(selfplay::EncodeTensors(*file), "written");
  if (!again || Sorted(*again) != Sorted(*file)) std::abort();
  return 0;
}
