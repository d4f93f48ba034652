// Weights saved by PyTorch's torch.save(), in its old and its new (zip) format, or as safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/types.hpp"
#include "workloads/checkpoint/tensor.hpp"

namespace harness::workloads {

/// The tensors of one file by name, held in memory. Nothing in the file is ever executed: the
/// reader knows dictionaries of tensors, alone or under "model" or "state_dict" in a training
/// checkpoint, and refuses everything else. A "module." before every name (DistributedDataParallel)
/// is dropped.
class TensorFile {
 public:
  /// Throws harness::Error, naming the file, for anything that is not a sound file of this kind.
  static TensorFile open(const std::filesystem::path& path);

  const std::map<std::string, FileTensor>& tensors() const { return tensors_; }
  /// The raw bytes that FileTensor::storage refers to.
  std::string_view storage(std::size_t index) const { return storages_.at(index); }
  /// The elements of one of tensors(), row-major; see read_float32() in tensor.hpp.
  void read(const FileTensor& tensor, std::span<float> out) const {
    read_float32(tensor, storage(tensor.storage), out);
  }
  /// "PyTorch zip", "PyTorch legacy" or "safetensors".
  const std::string& format() const { return format_; }
  /// Path as given, SHA-256, format and counts, for the result file.
  const Artifact& artifact() const { return artifact_; }

 private:
  TensorFile() = default;

  std::map<std::string, FileTensor> tensors_{};
  std::vector<std::string_view> storages_{};
  /// What the views above point into: the file itself or unpacked entries. Held by pointer, since a
  /// short std::string moves its bytes along.
  std::vector<std::unique_ptr<const std::string>> owned_{};
  std::string format_{};
  Artifact artifact_{};
};

}  // namespace harness::workloads
