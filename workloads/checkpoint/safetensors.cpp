#include "workloads/checkpoint/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
namespace trouble = safetensors_trouble;

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostDimensions = 64;
constexpr const char* kMetadata = "__metadata__";

/// What the format calls the types that this program reads.
constexpr std::array<std::pair<std::string_view, DType>, 10> kTypes = {{{"F64", DType::kFloat64},
                                                                        {"F32", DType::kFloat32},
                                                                        {"F16", DType::kFloat16},
                                                                        {"BF16", DType::kBFloat16},
                                                                        {"I64", DType::kInt64},
                                                                        {"I32", DType::kInt32},
                                                                        {"I16", DType::kInt16},
                                                                        {"I8", DType::kInt8},
                                                                        {"U8", DType::kUInt8},
                                                                        {"BOOL", DType::kBool}}};

std::string_view type_name(DType dtype) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const auto& type) { return type.second == dtype; });
  if (found == kTypes.end()) throw std::invalid_argument("a type that safetensors do not have");
  return found->first;
}

std::uint64_t length_of(std::string_view head) {
  std::uint64_t length = 0;
  std::memcpy(&length, head.data(), sizeof length);
  return length;
}

/// Elements times their size; over what fits into 63 bits, the most that does.
std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, DType dtype) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  auto bytes = static_cast<std::uint64_t>(element_size(dtype));
  for (const std::int64_t extent : shape) {
    if (bytes > kMost / static_cast<std::uint64_t>(extent)) return kMost;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

/// A whole number from 0 to the most that an int64 holds.
bool is_count(const json& value) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() <=
             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

SafeTensor tensor_from(const std::string& name, const json& entry) {
  const auto refuse = [&](const std::string& why) {
    throw BadFile(fmt::format("is damaged: tensor '{}' {}", printable(name, 80), why));
  };
  SafeTensor tensor;
  tensor.name = name;
  const json dtype = entry.is_object() ? entry.value("dtype", json()) : json();
  const json shape = entry.is_object() ? entry.value("shape", json()) : json();
  const json offsets = entry.is_object() ? entry.value("data_offsets", json()) : json();
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array()) {
    refuse(trouble::kUndescribed);
  }
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& known) {
    return known.first == dtype.get_ref<const std::string&>();
  });
  if (type == kTypes.end()) {
    throw BadFile(fmt::format("holds tensor '{}' of type '{}', which is not read here",
                              printable(name, 80), printable(dtype.get<std::string>(), 20)));
  }
  tensor.dtype = type->second;
  if (shape.size() > kMostDimensions || !std::all_of(shape.begin(), shape.end(), is_count)) {
    refuse(trouble::kNoShape);
  }
  tensor.shape = shape.get<std::vector<std::int64_t>>();
  if (offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), is_count)) {
    refuse(trouble::kNoOffsets);
  }
  tensor.begin = offsets[0];
  tensor.end = offsets[1];
  if (tensor.end < tensor.begin ||
      tensor.end - tensor.begin != bytes_of(tensor.shape, tensor.dtype)) {
    refuse(trouble::kOtherBytes);
  }
  return tensor;
}

std::map<std::string, std::string> metadata_from(const json& object) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) throw BadFile(trouble::kNoTexts);
    metadata[key] = value;
  }
  return metadata;
}

json parsed(std::string_view text) {
  JsonLimits limits;
  limits.depth = 8;
  limits.string_bytes = std::size_t{16} << 20;
  try {
    return parse_json(text, "", limits);
  } catch (const Error& error) {
    throw BadFile(fmt::format("{}: {}", trouble::kNoJson, error.why()));
  }
}

/// In order, each beginning where the one before ended, up to the file's end.
void check_places(std::vector<SafeTensor>& tensors, std::uint64_t data_bytes) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const SafeTensor& a, const SafeTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const SafeTensor& tensor : tensors) {
    if (tensor.begin != end) {
      throw BadFile(fmt::format("is damaged: tensor '{}' {}", printable(tensor.name, 80),
                                tensor.begin < end ? trouble::kOverAnother : trouble::kBehindGap));
    }
    end = tensor.end;
  }
  if (end > data_bytes) throw BadFile(trouble::kTruncated);
  if (end < data_bytes) throw BadFile(trouble::kGoesOn);
}

}  // namespace

bool looks_like_safetensors(std::string_view head) {
  return head.size() > kLengthBytes && length_of(head) <= kMostHeader && head[kLengthBytes] == '{';
}

SafetensorsHeader read_safetensors_header(std::string_view head, std::uint64_t file_size) {
  if (!looks_like_safetensors(head)) throw BadFile(trouble::kOtherKind);
  const std::uint64_t length = length_of(head);
  SafetensorsHeader header;
  header.size = kLengthBytes + length;
  if (header.size > file_size || header.size > head.size()) throw BadFile(trouble::kTruncated);
  const json document = parsed(head.substr(kLengthBytes, length));
  for (const auto& [name, entry] : document.items()) {
    if (name != kMetadata) {
      header.tensors.push_back(tensor_from(name, entry));
    } else if (entry.is_object()) {
      header.metadata = metadata_from(entry);
    } else {
      throw BadFile(trouble::kNoTexts);
    }
  }
  check_places(header.tensors, file_size - header.size);
  return header;
}

Contents read_safetensors(std::string_view content) {
  const SafetensorsHeader header = read_safetensors_header(content, content.size());
  const auto format = header.metadata.find("format");
  if (format != header.metadata.end() && format->second.starts_with("harness-training-state/")) {
    throw BadFile("is the saved state of a training, no weights", "--resume goes on with it");
  }
  Contents contents;
  for (const SafeTensor& tensor : header.tensors) {
    FileTensor view;
    view.dtype = tensor.dtype;
    view.shape = tensor.shape;
    view.strides.resize(tensor.shape.size());
    const std::uint64_t bytes = tensor.end - tensor.begin;
    std::int64_t stride = 1;
    // Without elements the extents may be anything.
    for (std::size_t i = tensor.shape.size(); i-- > 0 && bytes > 0;) {
      view.strides[i] = stride;
      stride *= tensor.shape[i];
    }
    view.storage = contents.storages.size();
    check_view(view, static_cast<std::int64_t>(bytes) / element_size(tensor.dtype));
    contents.storages.push_back(content.substr(header.size + tensor.begin, bytes));
    expect_plain_name(tensor.name);
    contents.tensors.emplace(tensor.name, std::move(view));
  }
  strip_data_parallel_prefix(contents.tensors);
  return contents;
}

void write_safetensors(const fs::path& path, const std::map<std::string, std::string>& metadata,
                       const std::vector<SafeTensor>& tensors,
                       const std::function<std::string_view(std::size_t)>& bytes) {
  nlohmann::ordered_json document;
  if (!metadata.empty()) document[kMetadata] = metadata;
  std::uint64_t end = 0;
  for (const SafeTensor& tensor : tensors) {
    if (tensor.name == kMetadata || document.contains(tensor.name)) {
      throw std::invalid_argument(tensor.name + ": a name that is taken");
    }
    const std::uint64_t begin = end;
    end += bytes_of(tensor.shape, tensor.dtype);
    document[tensor.name] = {{"dtype", type_name(tensor.dtype)},
                             {"shape", tensor.shape},
                             {"data_offsets", {begin, end}}};
  }
  std::string header = document.empty() ? "{}" : document.dump();
  // Elements begin at a whole number of doubles.
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::uint64_t length = header.size();
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  for (std::size_t i = 0; i < tensors.size() && file; ++i) {
    const std::string_view elements = bytes(i);
    if (elements.size() != bytes_of(tensors[i].shape, tensors[i].dtype)) {
      throw std::invalid_argument(tensors[i].name + ": elements that do not fill the shape");
    }
    file.write(elements.data(), static_cast<std::streamsize>(elements.size()));
  }
  file.close();
  if (!file) {
    throw Error(printable(path.string()), errno != 0 ? std::strerror(errno) : "cannot be written");
  }
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : name_(printable(path.string())) {
  std::error_code error;
  // Before it is opened: a FIFO would keep the program waiting.
  if (!fs::is_regular_file(path, error)) {
    refuse(fs::exists(path, error) ? "is not a regular file" : "does not exist");
  }
  file_.open(path, std::ios::binary);
  if (!file_) refuse(std::strerror(errno));
  const std::uint64_t size = fs::file_size(path, error);
  if (error) refuse(error.message());
  std::string head(std::min<std::uint64_t>(size, kLengthBytes + 1), '\0');
  file_.read(head.data(), static_cast<std::streamsize>(head.size()));
  try {
    if (looks_like_safetensors(head)) {
      const std::size_t known = head.size();
      head.resize(std::min<std::uint64_t>(size, kLengthBytes + length_of(head)));
      file_.read(head.data() + known, static_cast<std::streamsize>(head.size() - known));
    }
    if (!file_) throw BadFile(trouble::kTruncated);
    header_ = read_safetensors_header(head, size);
  } catch (const BadFile& bad) {
    refuse(bad.what());
  }
}

void SafetensorsFile::read(std::size_t index, void* to) {
  const SafeTensor& tensor = header_.tensors.at(index);
  file_.seekg(static_cast<std::streamoff>(header_.size + tensor.begin));
  file_.read(static_cast<char*>(to), static_cast<std::streamsize>(tensor.end - tensor.begin));
  if (!file_) refuse(trouble::kTruncated);
}

void SafetensorsFile::refuse(const std::string& why, const std::string& hint) const {
  throw Error(name_, why, hint);
}

}  // namespace harness::workloads
