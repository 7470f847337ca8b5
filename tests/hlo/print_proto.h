#ifndef EIGHTFOLD_TESTS_HLO_PRINT_PROTO_H_
#define EIGHTFOLD_TESTS_HLO_PRINT_PROTO_H_

#include <cstdio>

#include "hlo/proto/proto.h"
#include "hlo/verifier.h"

namespace eightfold::hlo {

// The end of a program that builds a module for a test in Python: `module`, verified, as a proto on
// standard output. Returns the exit status.
inline int PrintProto(const Module& module) {
  auto verdict = Verify(module);
  auto proto = verdict ? WriteProto(module) : tl::unexpected(verdict.error());
  if (!proto) {
    std::fprintf(stderr, "%s\n", proto.error().Format().c_str());
    return 1;
  }
  return std::fwrite(proto->data(), 1, proto->size(), stdout) == proto->size() ? 0 : 1;
}

}  // namespace eightfold::hlo

#endif  // EIGHTFOLD_TESTS_HLO_PRINT_PROTO_H_
