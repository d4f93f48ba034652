// What a weights file contains, and the two containers of torch.save(): where the pickle and the
// raw storages lie in the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/checkpoint/tensor.hpp"

namespace harness::workloads {

/// What a container holds: tensors by name, storages by FileTensor::storage. `storages` point into
/// the file's content (old format) or into `owned` (zip).
struct Contents {
  std::map<std::string, FileTensor> tensors{};
  std::vector<std::string_view> storages{};
  std::vector<std::unique_ptr<const std::string>> owned{};
};

/// `ARCHIVE/data.pkl`, `ARCHIVE/data/KEY`, `ARCHIVE/byteorder`. Only storages of the chosen tensors
/// are unpacked. Throws BadFile.
Contents read_zip_container(std::string_view content);

/// Pickled magic number, protocol, system information, object, storage keys; then each storage as
/// an element count (int64) and its raw elements. Throws BadFile.
Contents read_legacy_container(std::string_view content);

/// Throws BadFile for a name that is not short, printable and without blanks: it goes to terminals
/// and into results.
void expect_plain_name(std::string_view name);
/// Takes "module." (DistributedDataParallel) off where all names begin with it.
void strip_data_parallel_prefix(std::map<std::string, FileTensor>& tensors);

/// Whether `content` starts like a file of the old format.
bool looks_like_legacy(std::string_view content);

}  // namespace harness::workloads
