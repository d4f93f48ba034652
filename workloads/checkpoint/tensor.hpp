// A tensor as a weights file describes it: a strided view of a storage, checked before it is read.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harness::workloads {

/// Why a file cannot be used, without its name: whoever opened the file adds that.
class BadFile : public std::runtime_error {
 public:
  explicit BadFile(const std::string& why, std::string hint = {})
      : std::runtime_error(why), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// Element types of storages. kUntyped are bytes that no tensor may view.
enum class DType {
  kFloat64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
  kUntyped,
};

/// Bytes of one element.
std::int64_t element_size(DType dtype);
/// "float32", "bfloat16", ...
const char* dtype_name(DType dtype);
bool is_floating(DType dtype);

/// A view of `storage`: element (i, j, ...) lies at offset + i * strides[0] + j * strides[1] + ...,
/// all counted in elements. Objects made by the reader satisfy check_view().
struct FileTensor {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> strides{};
  std::size_t storage = 0;  ///< index into the file's storages
  std::int64_t offset = 0;

  /// Number of elements; 1 for a scalar.
  [[nodiscard]] std::int64_t numel() const;
};

/// "2x3x4", "scalar".
std::string shape_text(std::span<const std::int64_t> shape);

/// Throws BadFile unless every element lies within a storage of `storage_numel` elements and the
/// number of elements is sane. Overflow-safe for any input.
void check_view(const FileTensor& tensor, std::int64_t storage_numel);

/// Writes the elements in row-major order, rounded to nearest even where float32 is narrower.
/// `storage` are the bytes (any alignment) that the tensor was checked against; `out` holds numel()
/// floats. Throws std::invalid_argument when the tensor is not floating or sizes do not fit.
void read_float32(const FileTensor& tensor, std::string_view storage, std::span<float> out);

}  // namespace harness::workloads
