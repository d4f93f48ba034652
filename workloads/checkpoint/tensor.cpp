#include "workloads/checkpoint/tensor.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace harness::workloads {
namespace {

// The format knows no limit; PyTorch itself stops at 64 dimensions, and no weight comes near 2^31.
constexpr std::size_t kMaxDimensions = 64;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

struct DTypeInfo {
  const char* name;
  std::int64_t size;
  bool floating;
};

const DTypeInfo& info_of(DType dtype) {
  static constexpr DTypeInfo kInfos[] = {
      {"float64", 8, true}, {"float32", 4, true}, {"float16", 2, true},  {"bfloat16", 2, true},
      {"int64", 8, false},  {"int32", 4, false},  {"int16", 2, false},   {"int8", 1, false},
      {"uint8", 1, false},  {"bool", 1, false},   {"untyped", 1, false},
  };
  return kInfos[static_cast<std::size_t>(dtype)];
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fU;
  const std::uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0) {
    // Zero and subnormals: mantissa * 2^-24 is exact in float32.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t widened = exponent == 0x1f ? 0xffU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << 13));
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float from_float(float value) { return value; }
// Rounds to nearest even, as the processor's default mode does.
float from_double(double value) { return static_cast<float>(value); }

/// Walks the view like an odometer. memcpy, because a storage may start at any byte of the file.
template <class Element, float (*kConvert)(Element)>
void gather(const FileTensor& tensor, std::string_view storage, std::span<float> out) {
  const std::size_t rank = tensor.shape.size();
  std::vector<std::int64_t> index(rank, 0);
  std::vector<std::int64_t> strides = tensor.strides;
  for (std::size_t d = 0; d < rank; ++d) {
    // Never stepped along, and so never checked: it may hold anything.
    if (tensor.shape[d] == 1) strides[d] = 0;
  }
  std::int64_t position = tensor.offset;
  for (float& value : out) {
    Element element{};
    std::memcpy(&element, storage.data() + position * static_cast<std::int64_t>(sizeof(Element)),
                sizeof(Element));
    value = kConvert(element);
    for (std::size_t d = rank; d-- > 0;) {
      position += strides[d];
      if (++index[d] < tensor.shape[d]) break;
      position -= strides[d] * tensor.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::int64_t element_size(DType dtype) { return info_of(dtype).size; }
const char* dtype_name(DType dtype) { return info_of(dtype).name; }
bool is_floating(DType dtype) { return info_of(dtype).floating; }

std::int64_t FileTensor::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

void check_view(const FileTensor& tensor, std::int64_t storage_numel) {
  if (tensor.dtype == DType::kUntyped) throw BadFile("holds a tensor without an element type");
  if (tensor.shape.size() != tensor.strides.size() || tensor.shape.size() > kMaxDimensions) {
    throw BadFile("holds a tensor whose shape and strides do not fit together");
  }
  bool empty = false;
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size < 0) throw BadFile("holds a tensor with a negative size");
    if (size == 0) empty = true;
    // Zeros are left out of the product, so that it cannot overflow before or after one.
    if (size > 0 && __builtin_mul_overflow(count, size, &count)) count = kMaxElements + 1;
    if (count > kMaxElements) throw BadFile("holds a tensor of more than 2^31 elements");
  }
  if (tensor.offset < 0 || tensor.offset > storage_numel) {
    throw BadFile("holds a tensor that begins outside its storage");
  }
  std::int64_t last = tensor.offset;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.strides[d] < 0) throw BadFile("holds a tensor with a negative stride");
    std::int64_t span = 0;
    if (tensor.shape[d] > 1 &&
        (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &span) ||
         __builtin_add_overflow(last, span, &last))) {
      throw BadFile("holds a tensor that reaches beyond its storage");
    }
  }
  if (!empty && last >= storage_numel) {
    throw BadFile("holds a tensor that reaches beyond its storage");
  }
}

void read_float32(const FileTensor& tensor, std::string_view storage, std::span<float> out) {
  if (static_cast<std::int64_t>(out.size()) != tensor.numel()) {
    throw std::invalid_argument("read_float32: the destination has another number of elements");
  }
  if (out.empty()) return;
  std::int64_t last = tensor.offset;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    last += (tensor.shape[d] - 1) * tensor.strides[d];
  }
  if (last >= static_cast<std::int64_t>(storage.size()) / element_size(tensor.dtype)) {
    throw std::invalid_argument("read_float32: the storage is smaller than the one checked");
  }
  switch (tensor.dtype) {
    case DType::kFloat64:
      return gather<double, from_double>(tensor, storage, out);
    case DType::kFloat32:
      return gather<float, from_float>(tensor, storage, out);
    case DType::kFloat16:
      return gather<std::uint16_t, from_half>(tensor, storage, out);
    case DType::kBFloat16:
      return gather<std::uint16_t, from_bfloat16>(tensor, storage, out);
    default:
      throw std::invalid_argument("read_float32: not a floating tensor");
  }
}

}  // namespace harness::workloads
