#ifndef EIGHTFOLD_BASE_SOURCE_H_
#define EIGHTFOLD_BASE_SOURCE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace eightfold {

// The bytes of one input and the name to call it by in messages. Views into `bytes()` stay valid as
// long as the Source does; modules hold a shared_ptr to theirs.
class Source {
 public:
  // Maps `path`; "-" reads standard input to its end. Directories and unreadable files are errors
  // that name a near match in the same folder when there is one.
  static Result<std::shared_ptr<const Source>> Open(const std::string& path);
  // Takes over bytes that are already in memory.
  static std::shared_ptr<const Source> FromBytes(std::string name, std::string bytes);

  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  const std::string& name() const { return name_; }
  std::string_view bytes() const { return bytes_; }
  bool Contains(std::string_view view) const {
    return view.data() >= bytes_.data() &&
           view.data() + view.size() <= bytes_.data() + bytes_.size();
  }

 private:
  Source() = default;
  std::string name_;
  std::string owned_;
  std::string_view bytes_;
  void* mapping_ = nullptr;
  size_t mapping_size_ = 0;
};

// Writes beside `path` and renames, so that a reader never sees half a file. "-" is standard
// output.
Result<void> WriteFile(const std::string& path, std::string_view bytes);

}  // namespace eightfold

#endif  // EIGHTFOLD_BASE_SOURCE_H_
