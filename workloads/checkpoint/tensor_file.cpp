#include "workloads/checkpoint/tensor_file.hpp"

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "workloads/checkpoint/containers.hpp"
#include "workloads/checkpoint/safetensors.hpp"

namespace harness::workloads {
namespace {

// The model with an Adam state is below 0.5 GB.
constexpr std::size_t kMaxFileSize = std::size_t{4} << 30;
constexpr const char* kHint =
    "give a safetensors file, or one written by torch.save(model.state_dict(), FILE)";

/// What a file that is none of ours seems to be, for the message.
std::string guess_kind(std::string_view content, const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".onnx" ||
      (content.size() > 2 && content[0] == '\x08' && content[2] == '\x12')) {
    return "it looks like an ONNX model";
  }
  if (content.starts_with("\x89HDF")) return "it looks like an HDF5 file";
  if (content.starts_with("\x93NUMPY")) return "it looks like a NumPy array";
  if (content.starts_with("\x1f\x8b")) return "it looks like a gzip file; unpack it first";
  if (content.size() > 262 && content.substr(257, 5) == "ustar") {
    return "it looks like a tar archive; PyTorch before 0.2 wrote such files, save it again";
  }
  if (content[0] == '\x80') return "it is a pickle, but not one of torch.save()";
  const std::string_view head = content.substr(0, 512);
  const bool text = std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
  return text ? "it looks like text" : "its first bytes are of no format known here";
}

Contents read_container(std::string_view content, const std::filesystem::path& path,
                        std::string& format) {
  if (content.empty()) throw BadFile("is empty", kHint);
  if (content.starts_with("PK\x03\x04")) {
    format = "PyTorch zip";
    return read_zip_container(content);
  }
  if (looks_like_legacy(content)) {
    format = "PyTorch legacy";
    return read_legacy_container(content);
  }
  if (looks_like_safetensors(content)) {
    format = "safetensors";
    return read_safetensors(content);
  }
  throw BadFile("is no weights file: " + guess_kind(content, path), kHint);
}

}  // namespace

TensorFile TensorFile::open(const std::filesystem::path& path) {
  auto content = std::make_unique<const std::string>(read_file(path, kMaxFileSize));
  TensorFile file;
  Contents contents;
  try {
    contents = read_container(*content, path, file.format_);
  } catch (const BadFile& bad) {
    throw Error("weights file " + printable(path.string()), bad.what(), bad.hint());
  }
  file.tensors_ = std::move(contents.tensors);
  file.storages_ = std::move(contents.storages);
  file.owned_ = std::move(contents.owned);
  // Hashed from what was read, so that digest and tensors belong together.
  file.artifact_ = {"weights",
                    path.string(),
                    sha256_hex(*content),
                    {{"format", file.format_}, {"tensors", std::to_string(file.tensors_.size())}}};
  if (file.owned_.empty()) file.owned_.push_back(std::move(content));
  return file;
}

}  // namespace harness::workloads
