#include "base/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace eightfold {
namespace {

namespace fs = std::filesystem;

std::string SuggestPath(const std::string& path) {
  fs::path wanted(path);
  fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::string name = wanted.filename().string();
  std::string_view near = Nearest(name, {names.begin(), names.end()});
  if (near.empty()) return "";
  return fmt::format("did you mean {}?", (wanted.parent_path() / near).string());
}

Result<std::string> ReadAll(int fd, const std::string& name) {
  std::string bytes;
  size_t used = 0;
  while (true) {
    bytes.resize(used + (size_t{1} << 16) + used / 2);
    ssize_t n = read(fd, bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const Source>> Source::Open(const std::string& path) {
  if (path == "-") {
    EF_TRY(std::string bytes, ReadAll(STDIN_FILENO, "standard input"));
    return FromBytes("<stdin>", std::move(bytes));
  }
  if (path.empty()) return Fail("the name of the file to read is empty");
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return Fail("no such file: " + path, SuggestPath(path));
    return Fail(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
  struct stat info {};
  if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    close(fd);
    return Fail(path + " is a directory, not a file");
  }
  // Pipes and files that report no size (/proc, /dev/stdin) cannot be mapped.
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    auto bytes = ReadAll(fd, path);
    close(fd);
    if (!bytes) return tl::unexpected(std::move(bytes).error());
    return FromBytes(path, *std::move(bytes));
  }
  size_t size = static_cast<size_t>(info.st_size);
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return Fail(fmt::format("cannot map {}: {}", path, std::strerror(errno)));
  std::shared_ptr<Source> source(new Source);
  source->name_ = path;
  source->mapping_ = at;
  source->mapping_size_ = size;
  source->bytes_ = {static_cast<const char*>(at), size};
  return source;
}

std::shared_ptr<const Source> Source::FromBytes(std::string name, std::string bytes) {
  std::shared_ptr<Source> source(new Source);
  source->name_ = std::move(name);
  source->owned_ = std::move(bytes);
  source->bytes_ = source->owned_;
  return source;
}

Source::~Source() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
}

namespace {

Result<void> WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<void> WriteFile(const std::string& path, std::string_view bytes) {
  if (path == "-") return WriteAll(STDOUT_FILENO, bytes, "standard output");
  if (path.empty()) return Fail("the name of the file to write is empty");
  std::string beside = fmt::format("{}.{}.tmp", path, getpid());
  int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return Fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  auto written = WriteAll(fd, bytes, path);
  int closed = close(fd);
  if (written && (closed != 0 || rename(beside.c_str(), path.c_str()) != 0)) {
    written = Fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  if (!written) unlink(beside.c_str());
  return written;
}

}  // namespace eightfold
