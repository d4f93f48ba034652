#include "harness/system/page_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 2'000'000;
constexpr int kMaxDepth = 32;
constexpr std::size_t kWindow = std::size_t{1} << 30;  // bytes mapped at a time to look at

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Bytes of the file in memory. The kernel answers "all" to those who may not write the file, which
/// errs to the safe side; a failure counts as all, too.
long long resident_bytes(int fd, long long size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> state;
  long long resident = 0;
  for (long long offset = 0; offset < size; offset += static_cast<long long>(kWindow)) {
    const auto length = std::min<std::size_t>(kWindow, static_cast<std::size_t>(size - offset));
    void* view = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, offset);
    if (view == MAP_FAILED) return size;
    state.assign((length + page - 1) / page, 1);
    if (::mincore(view, length, state.data()) != 0) std::fill(state.begin(), state.end(), 1);
    ::munmap(view, length);
    resident += std::count_if(state.begin(), state.end(), [](auto s) { return (s & 1) != 0; }) *
                static_cast<long long>(page);
  }
  return std::min(resident, size);
}

/// The regular files below `folder`; `problem` tells why the list may not be whole.
std::vector<fs::path> files_below(const fs::path& folder, std::string& problem) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    std::error_code unreadable;
    const fs::file_status status = entry->symlink_status(unreadable);
    if (!unreadable && fs::is_regular_file(status)) files.push_back(entry->path());
    if (files.size() >= kMaxFiles) {
      problem = "more than 2000000 files";
      return files;
    }
    if (entry.depth() >= kMaxDepth && fs::is_directory(status)) {
      entry.disable_recursion_pending();
      problem = "folders nested over 32 deep";
    }
    entry.increment(error);
  }
  if (error) problem = "cannot list the folder: " + error.message();
  return files;
}

bool drop_all_caches(const SystemRoot& root) {
  const Descriptor control(root.locate("/proc/sys/vm/drop_caches"), O_WRONLY);
  return control.get() >= 0 && ::write(control.get(), "1\n", 2) == 2;
}

}  // namespace

nlohmann::json to_json(const PageCacheRecord& record) {
  return {
      {"method", record.method},
      {"files", record.files},
      {"bytes", record.bytes},
      {"resident_bytes", record.resident_bytes},
      {"complete", record.complete},
      {"reason", record.reason.empty() ? nlohmann::json(nullptr) : nlohmann::json(record.reason)}};
}

PageCacheRecord clear_page_cache(const fs::path& folder, const SystemRoot& root) {
  PageCacheRecord record;
  const std::vector<fs::path> files = files_below(folder, record.reason);
  long long unreadable = 0;
  // Only clean pages can be dropped, and the data may have been written a moment ago.
  const Descriptor top(folder, O_RDONLY | O_DIRECTORY);
  if (top.get() >= 0) ::syncfs(top.get());
  const bool dropped = drop_all_caches(root);
  for (const fs::path& path : files) {
    const Descriptor file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    struct stat info {};
    if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      ++unreadable;
      continue;
    }
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    ++record.files;
    record.bytes += info.st_size;
    record.resident_bytes += resident_bytes(file.get(), info.st_size);
  }
  record.method = dropped            ? "drop_caches+posix_fadvise"
                  : record.files > 0 ? "posix_fadvise"
                                     : "none";
  if (record.reason.empty() && unreadable > 0) {
    record.reason = std::to_string(unreadable) + " files could not be opened";
  }
  if (record.reason.empty() && record.resident_bytes > 0) {
    record.reason = format_quantity(static_cast<double>(record.resident_bytes), "B") +
                    " stayed in memory (in use, on a memory file system, or not ours to ask about)";
  }
  if (record.reason.empty() && record.files == 0) record.reason = "no files there";
  record.complete = record.reason.empty();
  return record;
}

}  // namespace harness
