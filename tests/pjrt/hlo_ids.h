#ifndef EIGHTFOLD_TESTS_PJRT_HLO_IDS_H_
#define EIGHTFOLD_TESTS_PJRT_HLO_IDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace eightfold::pjrt {

// `module` (a serialized HloModuleProto) with every instruction id replaced by `rename(id)`.
std::string RenameInstructions(const std::string& module,
                               const std::function<uint64_t(uint64_t)>& rename);

// How often the custom-call target `target` is called in a serialized HloModuleProto.
int CountCalls(const std::string& module, const std::string& target);

// The HloModuleProto of an HloModuleProtoWithConfig.
std::string WithoutConfig(const std::string& module_with_config);

// Dimensions of the module's result, which must be an array.
std::vector<int64_t> ResultDimensions(const std::string& module);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_TESTS_PJRT_HLO_IDS_H_
