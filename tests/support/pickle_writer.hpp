// Writes small weights files byte by byte, as torch.save() does, so that tests can bend any part.
#pragma once

#include <zip.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harness {

/// `count` little-endian bytes of `value`.
inline std::string little_endian(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

template <class Element>
std::string raw_bytes(const std::vector<Element>& values) {
  std::string bytes(values.size() * sizeof(Element), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A tensor as the pickle describes it; `strides` empty means contiguous.
struct PickledTensor {
  std::string name{};
  std::string type = "FloatStorage";
  std::string key = "0";
  std::int64_t numel = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> strides{};
};

/// Pickle opcodes of protocol 2, one call each.
class PickleWriter {
 public:
  explicit PickleWriter(bool legacy = false) : legacy_(legacy) { raw(std::string("\x80\x02")); }

  PickleWriter& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  PickleWriter& global(std::string_view module, std::string_view name) {
    return raw("c").raw(module).raw("\n").raw(name).raw("\n");
  }
  PickleWriter& text(std::string_view value) {
    return raw("X").raw(little_endian(value.size(), 4)).raw(value);
  }
  PickleWriter& integer(std::int64_t value) {
    return raw("\x8a\x08").raw(little_endian(static_cast<std::uint64_t>(value), 8));
  }
  PickleWriter& integers(const std::vector<std::int64_t>& values) {
    raw("(");
    for (const std::int64_t value : values) integer(value);
    return raw("t");
  }
  PickleWriter& ordered_dict() { return global("collections", "OrderedDict").raw(")R"); }
  PickleWriter& storage(const std::string& type, const std::string& key, std::int64_t numel) {
    raw("(").text("storage").global("torch", type).text(key).text("cpu").integer(numel);
    return raw(legacy_ ? "NtQ" : "tQ");
  }
  PickleWriter& tensor(const PickledTensor& t) {
    std::vector<std::int64_t> strides = t.strides;
    if (strides.empty()) {
      strides.assign(t.shape.size(), 1);
      for (std::size_t d = t.shape.size(); d-- > 1;) strides[d - 1] = strides[d] * t.shape[d];
    }
    global("torch._utils", "_rebuild_tensor_v2").raw("(").storage(t.type, t.key, t.numel);
    integer(t.offset).integers(t.shape).integers(strides);
    return raw("\x89").ordered_dict().raw("tR");
  }
  PickleWriter& state_dict(const std::vector<PickledTensor>& tensors) {
    ordered_dict().raw("(");
    for (const PickledTensor& t : tensors) text(t.name).tensor(t);
    return raw("u");
  }
  /// The whole pickle, ended.
  std::string done() const { return out_ + "."; }

 private:
  bool legacy_;
  std::string out_{};
};

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write a test file");
}

/// A zip archive of `entries` (name, content), stored or deflated.
inline void write_zip(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, std::string>>& entries,
                      bool deflate = false) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  if (archive == nullptr) throw std::runtime_error("cannot write a test archive");
  for (const auto& [name, content] : entries) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  if (zip_close(archive) != 0) throw std::runtime_error("cannot write a test archive");
}

/// A file of the new format with one storage per element of `storages`, keys "0", "1", ...
inline void write_zip_weights(const std::filesystem::path& path, const std::string& pickle,
                              const std::vector<std::string>& storages, bool deflate = false) {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"archive/data.pkl", pickle}, {"archive/byteorder", "little"}, {"archive/version", "3\n"}};
  for (std::size_t i = 0; i < storages.size(); ++i) {
    entries.emplace_back("archive/data/" + std::to_string(i), storages[i]);
  }
  write_zip(path, entries, deflate);
}

/// Everything of the old format before the object's pickle.
inline std::string legacy_head(bool little = true) {
  return PickleWriter().raw("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").done() +
         PickleWriter().raw("M\xe9\x03").done() +
         PickleWriter()
             .raw("}(")
             .text("protocol_version")
             .raw("M\xe9\x03")
             .text("little_endian")
             .raw(little ? "\x88" : "\x89")
             .raw("u")
             .done();
}

/// A storage of the old format: its key and its elements.
struct LegacyStorage {
  std::string key{};
  std::int64_t numel = 0;
  std::string bytes{};
};

/// Everything of the old format behind the object's pickle.
inline std::string legacy_tail(const std::vector<LegacyStorage>& storages) {
  PickleWriter keys;
  keys.raw("](");
  for (const LegacyStorage& storage : storages) keys.text(storage.key);
  std::string tail = keys.raw("e").done();
  for (const LegacyStorage& storage : storages) {
    tail += little_endian(static_cast<std::uint64_t>(storage.numel), 8) + storage.bytes;
  }
  return tail;
}

}  // namespace harness
