#include "hlo/verifier.h"
namespace eightfold::hlo { Result<void> Verify(const Module&) { return {}; } }
