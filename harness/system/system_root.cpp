#include "harness/system/system_root.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNames = 65536;
constexpr long long kMaxCpus = 8192;
constexpr long long kMaxSize = 1LL << 60;

nlohmann::json::json_pointer pointer_to(const std::string& field) {
  nlohmann::json::json_pointer pointer;
  for (const std::string& part : split(field, '.')) pointer /= part;
  return pointer;
}

}  // namespace

fs::path SystemRoot::locate(std::string_view path) const {
  return prefix_ / fs::path(path).relative_path();
}

Reading SystemRoot::raw(std::string_view path, std::size_t limit) const {
  try {
    return {read_file(locate(path), limit), {}};
  } catch (const Error& error) {
    // The path as on the machine: a prefix is the test's own affair and may hold a home folder.
    return {std::nullopt, clean_text(std::string(path) + ": " + error.why())};
  }
}

Reading SystemRoot::line(std::string_view path) const {
  Reading reading = raw(path, std::size_t{1} << 16);
  if (!reading.text) return reading;
  const std::string_view whole = *reading.text;
  const std::string text = clean_text(trim(whole.substr(0, whole.find('\n'))));
  if (text.empty()) return {std::nullopt, std::string(path) + ": empty"};
  return {text, {}};
}

std::optional<long long> SystemRoot::integer(std::string_view path) const {
  const Reading reading = line(path);
  return reading.text ? parse_integer(*reading.text) : std::nullopt;
}

std::vector<std::string> SystemRoot::list(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(locate(folder), error);
  while (!error && entry != fs::directory_iterator() && names.size() < kMaxNames) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool SystemRoot::exists(std::string_view path) const {
  std::error_code error;
  return fs::exists(locate(path), error) && !error;
}

std::string clean_text(std::string_view text) {
  std::string ascii(text.substr(0, 400));
  for (char& c : ascii) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return printable(ascii);
}

std::optional<std::string> keyed_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      std::string value = clean_text(trim(line.substr(colon + 1)));
      if (value.empty()) return std::nullopt;
      return value;
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<long long> kernel_size(std::string_view text) {
  text = trim(text);
  long long factor = 1;
  const auto ends = [&](std::string_view suffix, long long scale) {
    if (!text.ends_with(suffix)) return false;
    text = trim(text.substr(0, text.size() - suffix.size()));
    factor = scale;
    return true;
  };
  (void)(ends("kB", 1LL << 10) || ends("K", 1LL << 10) || ends("M", 1LL << 20) ||
         ends("G", 1LL << 30));
  const auto count = parse_integer(text);
  if (!count || *count < 0 || *count > kMaxSize / factor) return std::nullopt;
  return *count * factor;
}

std::optional<std::vector<int>> kernel_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (const std::string& part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMaxCpus) return std::nullopt;
    if (cpus.size() + static_cast<std::size_t>(*last - *first) >= kMaxCpus) return std::nullopt;
    for (long long cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

void Facts::set(const std::string& field, nlohmann::json value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    miss(field, "not a finite number");
    return;
  }
  facts_[pointer_to(field)] = std::move(value);
}

void Facts::miss(const std::string& field, const std::string& reason) {
  facts_[pointer_to(field)] = nullptr;
  missing_[field] = reason;
}

nlohmann::json Facts::get(const std::string& field) const {
  const auto pointer = pointer_to(field);
  return facts_.contains(pointer) ? facts_.at(pointer) : nlohmann::json(nullptr);
}

nlohmann::json Facts::json() const {
  nlohmann::json all = facts_;
  all["missing"] = missing_;
  return all;
}

}  // namespace harness
