// Tensors as the public format safetensors has them: a length, a header of JSON, then the raw
// elements of each tensor, in order and without gaps. Little-endian.
// Source: huggingface.co/docs/safetensors, "Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/checkpoint/containers.hpp"
#include "workloads/checkpoint/tensor.hpp"

namespace harness::workloads {

/// Why a header is refused.
namespace safetensors_trouble {
inline constexpr const char* kOtherKind = "is no safetensors file";
inline constexpr const char* kTruncated = "is truncated";
inline constexpr const char* kNoJson = "is damaged: its header is no JSON";
inline constexpr const char* kNoTexts = "is damaged: its metadata are no texts";
inline constexpr const char* kGoesOn = "is damaged: it goes on behind the last tensor";
// What follows the name of a tensor:
inline constexpr const char* kUndescribed = "is described without dtype, shape or data_offsets";
inline constexpr const char* kNoShape = "has a shape that is none";
inline constexpr const char* kNoOffsets = "has data_offsets that are none";
inline constexpr const char* kOtherBytes = "has more or fewer bytes than its shape";
inline constexpr const char* kOverAnother = "lies over another";
inline constexpr const char* kBehindGap = "lies behind a gap";
}  // namespace safetensors_trouble

/// A tensor as the header describes it; its elements lie in row-major order.
struct SafeTensor {
  std::string name{};
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape{};
  std::uint64_t begin = 0;  ///< in bytes, from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata{};
  std::vector<SafeTensor> tensors{};  ///< as they lie in the file
  std::uint64_t size = 0;             ///< of length and header: where the elements begin
};

/// Most bytes of a header, as the reference reader has it.
inline constexpr std::uint64_t kMostHeader = 100'000'000;

/// Whether `head`, the first bytes of a file, may be one of this format.
bool looks_like_safetensors(std::string_view head);

/// The header of a file of `file_size` bytes that begins with `head`, which holds it whole. Throws
/// BadFile for a header that is no JSON of this form, a type of elements that is not known here, a
/// tensor whose bytes are not those of its shape, that overlaps another, leaves a gap, or ends
/// behind the file.
SafetensorsHeader read_safetensors_header(std::string_view head, std::uint64_t file_size);

/// A whole file as a container. Throws BadFile.
Contents read_safetensors(std::string_view content);

/// Writes a file of `tensors`, whose places are not read but follow from their shapes; texts are
/// UTF-8. `bytes` gives the elements of each in turn, valid until the next call. Not atomic. Throws
/// Error when it cannot be written, and std::invalid_argument for elements that do not fill the
/// shape or a name that is there twice.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, std::string>& metadata,
                       const std::vector<SafeTensor>& tensors,
                       const std::function<std::string_view(std::size_t)>& bytes);

/// A file that is read tensor by tensor, never held as a whole.
class SafetensorsFile {
 public:
  /// Throws Error, naming the file, for one that is missing, no regular file or not sound.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const SafetensorsHeader& header() const { return header_; }
  /// The elements of the tensor at `index`, end - begin bytes, to `to`. Throws Error.
  void read(std::size_t index, void* to);
  /// Throws Error: the file is not what it has to be.
  [[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) const;

 private:
  std::string name_;
  std::ifstream file_;
  SafetensorsHeader header_;
};

}  // namespace harness::workloads
