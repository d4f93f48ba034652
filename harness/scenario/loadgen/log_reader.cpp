#include "harness/scenario/loadgen/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"

namespace harness::loadgen {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestLog = std::size_t{64} << 20;
constexpr std::string_view kMark = ":::MLLOG ";

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Whole numbers beyond what a double holds, seeds, as text: the digest of a file takes each number
/// for a double.
json exact(const json& value) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;
  const bool large = value.is_number_unsigned() && value.get<std::uint64_t>() > kLargest;
  return large ? json(value.dump()) : value;
}

/// A number; true is 1.
std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return std::nullopt;
}

/// What reasons are made of: its own lines, without the decoration, in blanks and stars.
void add_reasons(const std::string& text, std::vector<std::string>& reasons) {
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> words = split(line, ' ');
    std::erase_if(words, [](const std::string& word) { return word.empty() || word == "*"; });
    if (words.empty()) continue;
    std::string reason = printable(join(words, " "), 300);
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
      reasons.push_back(std::move(reason));
    }
  }
}

}  // namespace

std::optional<double> TestLog::number(const std::string& key) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

TestLog read_log(const std::filesystem::path& file, bool judged) {
  TestLog log;
  bool any = false;
  bool has_verdict = false;
  std::string early_stopping;
  for (const std::string& line : split(read_file(file, kLargestLog), '\n')) {
    if (!line.starts_with(kMark)) continue;
    const json entry = json::parse(line.substr(kMark.size()), nullptr, false);
    if (!entry.is_object() || !entry.contains("key") || !entry.at("key").is_string()) continue;
    any = true;
    const std::string key = entry.at("key");
    const json value = entry.value("value", json());
    const json metadata = entry.value("metadata", json::object());
    if (key == "loadgen_version") log.version = printable(text_of(value), 120);
    if (key == "result_validity") {
      has_verdict = true;
      log.valid = value == "VALID";
    }
    if (key == "early_stopping_result") early_stopping = text_of(value);
    if (key == "result_invalid_reason") add_reasons(text_of(value), log.reasons);
    if (metadata.is_object() && metadata.value("is_error", false)) {
      add_reasons(text_of(value), log.reasons);
      ++log.errors;
    }
    if (key.starts_with("requested_")) log.requested[key.substr(10)] = exact(value);
    if (key.starts_with("effective_")) log.effective[key.substr(10)] = exact(value);
    if (key.starts_with("result_") || key.starts_with("early_stopping_")) {
      if (const auto number = number_of(value)) log.numbers[key] = *number;
    }
  }
  if (!any || (judged && !has_verdict)) {
    throw Error(printable(file.string()), "holds no outcome of a test",
                "the disk may be full, or the test was stopped");
  }
  // LoadGen leaves this one out of its reasons.
  if (judged && log.number("early_stopping_met") == 0.0) {
    add_reasons(early_stopping.empty() ? "early stopping is not satisfied" : early_stopping,
                log.reasons);
  }
  if (judged && !log.valid && log.reasons.empty()) {
    log.reasons.emplace_back("LoadGen says INVALID without a reason");
  }
  return log;
}

void require_whole_logs(const std::filesystem::path& test, bool answers) {
  const auto require = [&](const char* name, std::string_view last) {
    const std::filesystem::path path = test / name;
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(path, missing);
    std::ifstream file(path, std::ios::binary);
    std::string end(16, '\0');
    if (!missing && size > 0) {
      file.seekg(static_cast<std::streamoff>(size - std::min<std::uintmax_t>(size, end.size())));
      file.read(end.data(), std::ssize(end));
      end.resize(static_cast<std::size_t>(file.gcount()));
      end.erase(end.find_last_not_of(" \r\n") + 1);
      if (!end.empty() && end.ends_with(last)) return;
    }
    throw Error(printable(path.string()), "LoadGen could not write all of it",
                "the disk may be full");
  };
  require("mlperf_log_summary.txt", "");
  if (answers) require("mlperf_log_accuracy.json", "]");
}

std::vector<LatencyPercentile> percentiles_of(const TestLog& log) {
  std::vector<LatencyPercentile> percentiles;
  // Of queries only multi-stream has figures beside those of samples.
  for (const char* behind : {"_percentile_per_query_latency_ns", "_percentile_latency_ns"}) {
    for (const auto& [key, value] : log.numbers) {
      if (!key.starts_with("result_") || !key.ends_with(behind)) continue;
      const std::string number = key.substr(7, key.size() - 7 - std::string_view(behind).size());
      const auto percentile = parse_number(number);
      if (percentile) percentiles.push_back({*percentile, value * 1e-9});
    }
    if (!percentiles.empty()) break;
  }
  std::sort(percentiles.begin(), percentiles.end(),
            [](const auto& a, const auto& b) { return a.percentile < b.percentile; });
  return percentiles;
}

double figure_in(const TestLog& log, const std::string& scenario) {
  const FigureOfScenario& figure = *figure_of_scenario(scenario);
  return log.number(std::string(figure.key)).value_or(0) * figure.scale;
}

LoadGenReport report_of(const TestLog& log, const std::string& scenario) {
  const FigureOfScenario& figure = *figure_of_scenario(scenario);
  LoadGenReport report;
  report.version = log.version;
  // LoadGen says VALID beside errors of its own.
  report.valid = log.valid && log.errors == 0;
  report.reasons = log.reasons;
  report.figure = {std::string(figure.tag), std::string(figure.unit), figure_in(log, scenario)};
  report.percentiles = percentiles_of(log);
  report.log = log.numbers;
  report.requested = log.requested;
  report.effective = log.effective;
  return report;
}

std::vector<FileHash> files_of_test(const std::filesystem::path& logs, const std::string& test) {
  std::vector<FileHash> files;
  for (const auto& entry : std::filesystem::directory_iterator(logs / test)) {
    const std::filesystem::path& path = entry.path();
    files.push_back({(logs.filename() / test / path.filename()).string(), sha256_of_file(path)});
  }
  std::sort(files.begin(), files.end(),
            [](const FileHash& a, const FileHash& b) { return a.file < b.file; });
  return files;
}

}  // namespace harness::loadgen
