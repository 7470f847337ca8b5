#ifndef EIGHTFOLD_TESTS_CENSUS_MODULES_H_
#define EIGHTFOLD_TESTS_CENSUS_MODULES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "hlo/module.h"
#include "hlo/text/text.h"
#include "hlo/verifier.h"

namespace eightfold::census {

// The module that `text` spells; it must be right.
inline std::shared_ptr<const hlo::Module> Parse(std::string text) {
  auto module = hlo::ReadText(Source::FromBytes("test.hlo", std::move(text)));
  if (!module) {
    ADD_FAILURE() << module.error().Format();
    return nullptr;
  }
  auto verified = hlo::Verify(**module);
  EXPECT_TRUE(verified) << verified.error().Format();
  return std::shared_ptr<const hlo::Module>(std::move(*module));
}

}  // namespace eightfold::census

#endif  // EIGHTFOLD_TESTS_CENSUS_MODULES_H_
