// The pixels of a scene set on disk, held against what is frozen in the code: the manifest lies
// beside the pictures, and whoever exchanges one may write the other anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/data/image.hpp"
#include "workloads/data/parallel.hpp"

namespace harness::workloads {

/// SHA-256 of a scene's pixels, 64 hex digits.
std::string pixel_hash(const Image& image);

/// SHA-256 over the pixel hashes of a split's scenes in order: what is frozen of it.
std::string split_hash(const std::vector<std::string>& pixel_hashes);

/// Decodes the `count` scenes in `folder`, in parallel, and throws Error unless their split_hash is
/// `expected`; `hint` says what to do then.
void verify_pixels(const std::filesystem::path& folder, int count, const std::string& expected,
                   const std::string& hint, const Preparation& preparation);

}  // namespace harness::workloads
