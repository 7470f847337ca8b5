#ifndef EIGHTFOLD_CLI_CHOICE_H_
#define EIGHTFOLD_CLI_CHOICE_H_

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace eightfold::cli {

// Adds an option that takes one of `choices`, a word each, and stores the value that belongs to it.
// A bad word is answered with the nearest one, or all.
template <class Value, class Slot>
CLI::Option* AddChoice(CLI::App& verb, const std::string& name, Slot& slot,
                       const std::string& description,
                       std::vector<std::pair<std::string, Value>> choices) {
  auto store = [name, &slot, choices = std::move(choices)](const std::string& word) {
    std::vector<std::string_view> words;
    std::string all;
    for (const auto& [choice, value] : choices) {
      if (choice == word) {
        slot = value;
        return;
      }
      words.push_back(choice);
      all += (all.empty() ? "" : ", ") + choice;
    }
    std::string_view near = Nearest(word, words);
    throw CLI::ValidationError(
        name + " cannot be " + word + "\n  " +
        (near.empty() ? "it is one of " + all : "did you mean " + std::string(near) + "?"));
  };
  return verb.add_option_function<std::string>(name, store, description);
}

}  // namespace eightfold::cli

#endif  // EIGHTFOLD_CLI_CHOICE_H_
