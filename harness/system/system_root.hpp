// Reading what the kernel tells about a machine. All of it goes through a root prefix, so that
// tests can present other machines, and broken ones, as folders.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A text or the reason why there is none.
struct Reading {
  std::optional<std::string> text{};
  std::string reason{};
};

/// The root of a /proc and /sys tree. Every read is bounded and never throws for content.
class SystemRoot {
 public:
  explicit SystemRoot(std::filesystem::path prefix = "/") : prefix_(std::move(prefix)) {}

  /// Whether this is the machine the program runs on, so that system calls may fill gaps.
  bool is_real() const { return prefix_ == "/"; }
  /// Where `path` ("/proc/stat") lies under this root.
  std::filesystem::path locate(std::string_view path) const;

  /// The whole file, bytes as they are.
  Reading raw(std::string_view path, std::size_t limit = std::size_t{4} << 20) const;
  /// The first line without white space at its ends, made safe to print and to store as UTF-8.
  Reading line(std::string_view path) const;
  /// The file as one integer.
  std::optional<long long> integer(std::string_view path) const;
  /// Names in a folder, sorted; empty when there is no such folder. At most 65536.
  std::vector<std::string> list(std::string_view folder) const;
  bool exists(std::string_view path) const;

 private:
  std::filesystem::path prefix_;
};

/// `text` as printable ASCII of at most 200 characters: firmware strings end up in JSON.
std::string clean_text(std::string_view text);

/// The value of "key : value" in `text` for the first line whose trimmed key is `key`.
std::optional<std::string> keyed_value(std::string_view text, std::string_view key);

/// A size as the kernel writes it, "32768K", "16 kB", "2M" or a plain count of bytes; in bytes.
std::optional<long long> kernel_size(std::string_view text);

/// CPU numbers as the kernel writes them, "0-3,8". Empty for anything malformed or over 8192 CPUs.
std::optional<std::vector<int>> kernel_cpu_list(std::string_view text);

/// The facts of a capture. A field that cannot be read is null, with the reason under `missing`.
class Facts {
 public:
  /// `field` is dotted: "cpu.model_name". An empty `value` needs a `reason`.
  template <typename T>
  void put(const std::string& field, const std::optional<T>& value, const std::string& reason) {
    if (value) {
      set(field, *value);
    } else {
      miss(field, reason);
    }
  }
  void put(const std::string& field, const Reading& reading) {
    put(field, reading.text, reading.reason);
  }
  void set(const std::string& field, nlohmann::json value);
  void miss(const std::string& field, const std::string& reason);
  /// The value that was set; null when there is none.
  nlohmann::json get(const std::string& field) const;
  /// The facts with `missing` beside them.
  nlohmann::json json() const;

 private:
  nlohmann::json facts_ = nlohmann::json::object();
  nlohmann::json missing_ = nlohmann::json::object();
};

}  // namespace harness
