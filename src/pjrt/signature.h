#ifndef EIGHTFOLD_PJRT_SIGNATURE_H_
#define EIGHTFOLD_PJRT_SIGNATURE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pjrt/array.h"

namespace eightfold::pjrt {

// What a program takes and returns.
struct Signature {
  struct Parameter {
    std::string name;  // as the program calls it
    ArrayShape shape;
    bool donated = false;  // its memory becomes a result's: the buffer is gone afterwards
  };
  std::string name;  // of the module
  std::vector<Parameter> parameters;
  std::vector<ArrayShape> results;  // the elements of a tuple, else the one array
};

// The signature of `program`, a serialized HloModuleProto. Errors: other bytes, a module that does
// not verify, parameters or results that are not arrays of whole bytes and fixed size.
Result<Signature> ReadSignature(std::string_view program);

}  // namespace eightfold::pjrt

#endif  // EIGHTFOLD_PJRT_SIGNATURE_H_
