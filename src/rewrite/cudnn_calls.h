#ifndef EIGHTFOLD_REWRITE_CUDNN_CALLS_H_
#define EIGHTFOLD_REWRITE_CUDNN_CALLS_H_

#include <string_view>

// Targets of the custom calls that forward convolutions become.
namespace eightfold::rewrite {

inline constexpr std::string_view kForwardTarget = "__cudnn$convForward";     // legacy
inline constexpr std::string_view kGraphTarget = "__cudnn$convForwardGraph";  // with a graph

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_CUDNN_CALLS_H_
