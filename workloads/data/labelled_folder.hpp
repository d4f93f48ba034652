// Pictures in a folder for each class, as ImageNet's validation set is kept: DIR/CLASS/NAME.jpg.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/data/parallel.hpp"

namespace harness::workloads {

struct LabelledPicture {
  std::filesystem::path file{};  ///< from the folder on
  std::int64_t label = 0;        ///< its class, from 0
};

struct LabelledFolder {
  std::filesystem::path root{};
  std::vector<LabelledPicture> pictures{};  ///< by class, then by name
  std::string sha256{};                     ///< over all names, classes and contents
};

/// Reads every file once, for its hash. Where all folders are called by numbers below `classes`,
/// these are the classes; otherwise there must be `classes` folders, whose names in order are: so
/// ImageNet's are by their synsets. Throws Error where neither holds, and for what is no picture by
/// its name (.jpg, .jpeg, .png), a class without one, or a file that cannot be read. Hidden files
/// are passed over.
LabelledFolder read_labelled_folder(const std::filesystem::path& root, std::int64_t classes,
                                    const Preparation& preparation);

}  // namespace harness::workloads
