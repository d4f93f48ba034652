#include "harness/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/base/regular_file.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// close() reports what the disk could not take after all (NFS, quota).
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string shown(const fs::path& path) { return printable(path.string()); }

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Below the prefix that `cmake --install` was given; cmake/install.cmake puts it there.
constexpr const char* kInstalledHome = "share/harness";

bool is_home(const fs::path& folder) {
  std::error_code ignored;
  // One file that no other folder has stands for the whole tree, rules/ included.
  return fs::exists(folder / "results" / "schema" / "run.schema.json", ignored);
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t limit) {
  RegularFile file(path);
  const auto too_large = [&](std::uint64_t size) {
    return Error(shown(path), fmt::format("{} is over the limit of {} for this kind of file",
                                          format_quantity(static_cast<double>(size), "B"),
                                          format_quantity(static_cast<double>(limit), "B")));
  };
  if (file.size() > limit) throw too_large(file.size());
  std::string content;
  content.reserve(file.size() + 1);
  char buffer[1 << 16];
  while (const std::size_t n = file.read(buffer, sizeof buffer)) {
    content.append(buffer, n);
    // The file may grow while it is read.
    if (content.size() > limit) throw too_large(content.size());
  }
  return content;
}

namespace {

/// A terminal, a pipe, /dev/null: nothing to put in the place of.
void write_through(const fs::path& path, std::string_view content) {
  const auto fail = [&] {
    return Error(shown(path), std::string("cannot write it: ") + std::strerror(errno));
  };
  // Opened otherwise, a FIFO that nobody reads would wait for ever.
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENXIO) {
    throw Error(shown(path), "cannot write it: nobody reads there", "name a file, or read first");
  }
  if (file.get() < 0 || ::fcntl(file.get(), F_SETFL, 0) != 0 || !write_all(file.get(), content) ||
      !file.close())
    throw fail();
}

}  // namespace

void write_file_atomically(const fs::path& wanted, std::string_view content) {
  std::error_code error;
  const fs::file_status there = fs::status(wanted, error);
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) {
    return write_through(wanted, content);
  }
  // A link stays one.
  const fs::path path =
      fs::exists(there) && fs::is_symlink(wanted, error) ? fs::canonical(wanted, error) : wanted;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path temporary =
      folder / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
  const auto fail = [&](const char* doing) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    return Error(shown(path), fmt::format("cannot {}: {}", doing, std::strerror(reason)),
                 reason == ENOSPC || reason == EDQUOT
                     ? "free some space, or choose another place for it"
                     : "choose another place for it");
  };
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.get() < 0) throw fail("create it");
  if (!write_all(file.get(), content)) throw fail("write it");
  if (::fsync(file.get()) != 0) throw fail("write it to disk");
  if (!file.close()) throw fail("write it to disk");
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw fail("put it in place");
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

void make_writable_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  const char* const elsewhere = "choose another folder with --out";
  if (error) throw Error(shown(path), "cannot create the folder: " + error.message(), elsewhere);
  if (!fs::is_directory(path, error)) throw Error(shown(path), "not a folder", elsewhere);
  // access() answers for the real user and misses read-only mounts of some kinds: try it.
  const fs::path probe = path / fmt::format(".probe.{}", ::getpid());
  const Descriptor file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    throw Error(shown(path), std::string("cannot write there: ") + std::strerror(errno), elsewhere);
  }
  ::unlink(probe.c_str());
}

fs::path home_folder() {
  if (const char* home = std::getenv("HARNESS_HOME"); home != nullptr && *home != '\0') {
    if (!is_home(home)) {
      throw Error(printable(home), "HARNESS_HOME has no results/schema/run.schema.json",
                  "point it at the project's folder or unset it");
    }
    return home;
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = executable.parent_path(); !error && !folder.empty();
       folder = folder.parent_path()) {
    if (is_home(folder)) return folder;
    if (is_home(folder / kInstalledHome)) return folder / kInstalledHome;
    if (folder == folder.parent_path()) break;
  }
  if (is_home(HARNESS_SOURCE_DIR)) return HARNESS_SOURCE_DIR;
  throw Error("rules folder", "not found beside the program",
              "set HARNESS_HOME to the project's folder");
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "harness";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "harness";
  }
  throw Error("cache folder", "neither XDG_CACHE_HOME nor HOME is set", "set one of them");
}

}  // namespace harness
