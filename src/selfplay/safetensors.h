#ifndef EIGHTFOLD_SELFPLAY_SAFETENSORS_H_
#define EIGHTFOLD_SELFPLAY_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hlo/primitive_type.h"

// Files of named arrays in the safetensors format:
//
//   u64 size of the header, little-endian;  the header, JSON;  the arrays' bytes, without gaps
//   header: {"NAME": {"dtype": "F8_E4M3", "shape": [3,3], "data_offsets": [begin, end]}, …,
//            "__metadata__": {"KEY": "text", …}}
namespace eightfold::selfplay {

struct Tensor {
  std::string name;
  hlo::PrimitiveType type{};
  std::vector<int64_t> dims;
  std::string bytes;  // dense, row-major, little-endian
  bool operator==(const Tensor&) const = default;
};

struct TensorFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
  bool operator==(const TensorFile&) const = default;
};

// The tensor of that name, or null.
const Tensor* FindTensor(const TensorFile& file, std::string_view name);

// "f8e4m3fn[3,3]"
std::string ToString(hlo::PrimitiveType type, std::span<const int64_t> dims);

// The tensors in the given order, but those of wide elements first in the data: each is aligned.
// Tensors that no file can hold (a name twice, a type that has no name there, a size that is not
// that of the dimensions) are programming mistakes: std::logic_error.
std::string EncodeTensors(const TensorFile& file);

// The tensors of `bytes`, in the order of their data. `name` is what messages call the file;
// nothing about it is trusted. Errors: all that the format forbids: a header that is cut off,
// larger than 16 MiB or not such JSON; names twice; unknown types; dimensions that do not make the
// bytes they have; data that overlaps, leaves gaps or is not there.
Result<TensorFile> DecodeTensors(std::string_view bytes, const std::string& name);

// The same from and to the file `path`; written in whole or not at all.
Result<TensorFile> ReadTensors(const std::string& path);
Result<void> WriteTensors(const std::string& path, const TensorFile& file);

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_SAFETENSORS_H_
