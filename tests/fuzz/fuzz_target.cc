#include <cstdlib>
#include <string>

#include "target/text_config.h"

using namespace eightfold;

// Any bytes give a GPU or an error. What is written for the newest plugin version reads back.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  auto gpu = target::ParseTargetConfig(Source::FromBytes("input", std::move(bytes)));
  if (!gpu) return 0;
  for (const char* version : {"0.6.2", "0.9.2", "0.10.2", "0.12.0.1"}) {
    std::string config = target::WriteTargetConfig(*gpu, target::PluginVersion::Parse(version));
    if (!target::ParseTargetConfig(Source::FromBytes("written", config))) std::abort();
  }
  return 0;
}
