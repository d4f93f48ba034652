// The pixels of a scene set on disk, held against what is frozen in the code: the manifest lies
// beside the pictures, and whoever exchanges one may write the other anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/data/image.hpp"
#include "workloads/data/manifest.hpp"
#include "workloads/data/scene_set.hpp"

namespace harness::workloads {

/// SHA-256 of a scene's pixels, 64 hex digits.
std::string pixel_hash(const Image& image);

/// SHA-256 over the hashes of a split's scenes in order, of their pixels or of their files: what is
/// frozen of it.
std::string split_hash(const std::vector<std::string>& hashes);

/// The manifest's detail with a split's pixel hash: "train_pixels_sha256".
std::string pixels_key(SceneSplit split);

/// Reads every file of the set once, in parallel, and holds it against the manifest, whose details
/// have been compared with what is frozen. A split whose files are the frozen ones has the frozen
/// pixels; the pictures of any other are decoded and their pixels hashed. Throws Error naming the
/// file, or the split whose pictures are others; `hint` says what to do then.
void verify_scenes(const std::filesystem::path& folder, const SceneSet& set,
                   const Manifest& manifest, const std::string& hint,
                   const Preparation& preparation);

}  // namespace harness::workloads
