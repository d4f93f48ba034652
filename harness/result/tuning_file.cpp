#include "harness/result/tuning_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/result/schema.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{16} << 20;
constexpr const char* kFormat = "harness-tuning/1";
constexpr const char* kHint = "'harness tune' writes such tables";

TuningProblem problem_from(const json& line) {
  return {line.at("problem"), line.at("type"), line.at("pass"), line.at("threads")};
}

/// In tens of nanoseconds, which is more than clocks tell.
double rounded(double seconds) { return std::max(std::round(seconds * 1e8), 1.0) / 1e8; }

json line_json(const TuningProblem& problem, const TuningLine& line) {
  std::map<std::string, double> times;
  for (const auto& [kernel, seconds] : line.seconds) times[kernel] = rounded(seconds);
  return {{"problem", problem.problem}, {"type", problem.type},  {"pass", problem.pass},
          {"threads", problem.threads}, {"kernel", line.kernel}, {"seconds", times}};
}

}  // namespace

std::filesystem::path tuning_file(const std::filesystem::path& home,
                                  const std::string& instruction_set) {
  return home / "kernels" / "tuning" / (instruction_set + ".json");
}

TuningTable load_tuning(const std::filesystem::path& file, const std::filesystem::path& home) {
  const std::string text = read_file(file, kLargestFile);
  const json document = parse_json(text, file.string(), {.file_bytes = kLargestFile});
  const auto problems = validate_schema(document, home / "kernels/tuning/tuning.schema.json");
  const std::string name = printable(file.string());
  if (!problems.empty()) throw Error(name, problem_text(problems.front()), kHint);
  TuningTable table{document.at("instruction_set"), document.at("processor"), {}, sha256_hex(text)};
  for (const json& line : document.at("lines")) {
    const TuningProblem problem = problem_from(line);
    const bool fresh =
        table.lines.try_emplace(problem, TuningLine{line.at("kernel"), line.at("seconds")}).second;
    if (!fresh) {
      throw Error(
          name,
          fmt::format("{} {} {} with {} is there twice", problem.pass, printable(problem.problem),
                      problem.type, format_count(problem.threads, "thread")),
          kHint);
    }
  }
  return table;
}

std::string tuning_text(const TuningTable& table) {
  std::string text = fmt::format(
      "{{\n  \"format\": {},\n  \"instruction_set\": {},\n  \"processor\": {},\n  \"lines\": [",
      json(kFormat).dump(), json(table.instruction_set).dump(), json(table.processor).dump());
  const char* separator = "\n    ";
  for (const auto& [problem, line] : table.lines) {
    text += separator + line_json(problem, line).dump();
    separator = ",\n    ";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace harness
