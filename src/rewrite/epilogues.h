#ifndef EIGHTFOLD_REWRITE_EPILOGUES_H_
#define EIGHTFOLD_REWRITE_EPILOGUES_H_

#include <span>
#include <string_view>

#include "rewrite/capture.h"

namespace eightfold::rewrite {

// One way to absorb a user of a value in the graph.
struct Epilogue {
  std::string_view name;
  // Whether `user` is this operation on `level.value`; if so, it was absorbed as far as it may be.
  bool (*absorb)(Capture& capture, Capture::Level& level, Instruction& user);
};

// In the order in which they are tried. To absorb another operation, add a function and a row.
std::span<const Epilogue> Epilogues();

}  // namespace eightfold::rewrite

#endif  // EIGHTFOLD_REWRITE_EPILOGUES_H_
