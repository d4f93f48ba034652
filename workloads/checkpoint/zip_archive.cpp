#include "workloads/checkpoint/zip_archive.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>

#include "workloads/checkpoint/pickle.hpp"
#include "workloads/checkpoint/tensor.hpp"

namespace harness::workloads {
namespace {

constexpr zip_int64_t kMaxEntries = 100'000;
// Weights hardly shrink: deflate saves about a tenth. PyTorch itself stores them as they are.
constexpr std::uint64_t kMaxRatio = 8;
constexpr std::uint64_t kAllowance = std::uint64_t{16} << 20;

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

struct ZipArchive::State {
  zip_t* archive = nullptr;
  std::uint64_t budget = 0;  ///< bytes that may still be unpacked
  ~State() {
    if (archive != nullptr) zip_discard(archive);
  }
};

ZipArchive::ZipArchive(std::string_view content) : state_(std::make_unique<State>()) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(content.data(), content.size(), 0, &error);
  if (source != nullptr) {
    state_->archive = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (state_->archive == nullptr) zip_source_free(source);
  }
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (state_->archive == nullptr) {
    throw BadFile(fmt::format("is a damaged or truncated zip archive: {}", reason));
  }
  if (zip_get_num_entries(state_->archive, 0) > kMaxEntries) {
    throw BadFile("is a zip archive of more entries than weights have");
  }
  state_->budget = content.size() * kMaxRatio + kAllowance;
}

ZipArchive::~ZipArchive() = default;

std::optional<std::string> ZipArchive::find_suffix(std::string_view suffix) const {
  const zip_int64_t count = zip_get_num_entries(state_->archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(state_->archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    if (name != nullptr && std::string_view(name).ends_with(suffix)) return name;
  }
  return std::nullopt;
}

bool ZipArchive::contains(const std::string& name) const {
  return zip_name_locate(state_->archive, name.c_str(), ZIP_FL_ENC_RAW) >= 0;
}

std::string ZipArchive::read(const std::string& name, std::uint64_t limit) {
  const std::string shown = plain_ascii(name);
  const zip_int64_t index = zip_name_locate(state_->archive, name.c_str(), ZIP_FL_ENC_RAW);
  if (index < 0) throw BadFile(fmt::format("lacks its entry {}", shown));
  const auto entry = static_cast<zip_uint64_t>(index);
  zip_stat_t info;
  zip_stat_init(&info);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(state_->archive, entry, 0, &info) != 0 || (info.valid & kNeeded) != kNeeded) {
    throw BadFile(fmt::format("is damaged: no size for its entry {}", shown));
  }
  if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && info.encryption_method != ZIP_EM_NONE) {
    throw BadFile("is encrypted");
  }
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
    throw BadFile(
        fmt::format("packs its entry {} in a way that is neither stored nor deflated", shown));
  }
  if (info.size > limit) {
    throw BadFile(fmt::format("declares {} bytes for its entry {}; at most {} are expected",
                              info.size, shown, limit));
  }
  if (info.size > state_->budget) {
    throw BadFile("unpacks to far more than its own size, as a zip bomb does");
  }
  state_->budget -= info.size;
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(state_->archive, entry, 0));
  std::string content;
  if (file != nullptr) {
    content.resize(info.size);
    std::size_t done = 0;
    // One read beyond the end makes libzip compare the checksum.
    char beyond = 0;
    while (true) {
      const bool full = done == content.size();
      const zip_int64_t n = zip_fread(file.get(), full ? &beyond : content.data() + done,
                                      full ? 1 : content.size() - done);
      if (n == 0 && full) return content;
      if (n <= 0 || full) break;
      done += static_cast<std::size_t>(n);
    }
  }
  throw BadFile(
      fmt::format("is damaged: its entry {} cannot be unpacked or fails its checksum", shown));
}

}  // namespace harness::workloads
