// Dropping file contents from memory, so that a run reads its data from disk as a first run would.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/system/system_root.hpp"

namespace harness {

/// What was done and what came of it. `complete` is true only when, afterwards, no page of any file
/// was found in memory.
struct PageCacheRecord {
  std::string method{};  ///< "drop_caches+posix_fadvise", "posix_fadvise" or "none"
  long long files = 0;
  long long bytes = 0;           ///< size of these files
  long long resident_bytes = 0;  ///< of these still in memory afterwards
  bool complete = false;
  std::string reason{};  ///< why it is not complete
};

nlohmann::json to_json(const PageCacheRecord& record);

/// Writes back and drops the pages of every regular file below `folder`, and of the whole machine
/// where that is permitted. Links below `folder` are not followed. Never throws for what it finds.
PageCacheRecord clear_page_cache(const std::filesystem::path& folder,
                                 const SystemRoot& root = SystemRoot());

}  // namespace harness
