// What a measuring command leaves behind, and what it says when it refuses.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/support/process.hpp"
#include "tests/support/refusal.hpp"

namespace harness {

inline std::vector<std::filesystem::path> files_ending(const std::filesystem::path& folder,
                                                       const std::string& extension) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// `more` behind `--set step-ms=MS`, unless it says how long a step takes itself.
inline std::vector<std::string> with_step_ms(const std::string& ms,
                                             const std::vector<std::string>& more) {
  const bool said = std::any_of(more.begin(), more.end(), [](const std::string& argument) {
    return argument.starts_with("step-ms=");
  });
  std::vector<std::string> arguments;
  if (!said) arguments = {"--set", "step-ms=" + ms};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Waits until `holds`, three minutes at most: under sanitizers on a busy machine all takes long.
inline void wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 18000; ++i) {
    if (holds()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL("what was waited for did not come");
}

/// Waits until a file in `out` with that extension holds `text`.
inline void wait_for_line(const std::filesystem::path& out, const std::string& extension,
                          const std::string& text) {
  INFO("waiting for " << text << " in " << out);
  wait_until([&] {
    const std::vector<std::filesystem::path> files = files_ending(out, extension);
    return std::any_of(files.begin(), files.end(), [&](const std::filesystem::path& file) {
      return read_file(file, 64 << 20).find(text) != std::string::npos;
    });
  });
}

/// Waits until the program has said so on its error stream.
inline void wait_for_error(const Process& process, const std::string& text) {
  INFO("waiting for " << text << " on the error stream");
  wait_until([&] { return process.errors().find(text) != std::string::npos; });
}

/// Waits until a run in `out` has measured something.
inline void wait_for_first_step(const std::filesystem::path& out) {
  wait_for_line(out, ".jsonl", "\"event\":\"step\"");
}

/// Waits until `process` has written `text` to its error stream.
inline void wait_for_error_text(const Process& process, const std::string& text) {
  INFO("waiting for " << text);
  wait_until([&] { return process.errors().find(text) != std::string::npos; });
}

/// Lines of `text` that are wider than `columns` characters or end in a blank; empty when none is.
inline std::vector<std::string> badly_set(const std::string& text, std::ptrdiff_t columns) {
  std::vector<std::string> bad;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a byte that continues one
    });
    if (width > columns || line.ends_with(' ')) bad.push_back(line);
  }
  return bad;
}

/// The lines on stderr that are errors; progress stands there as well.
inline std::vector<std::string> error_lines(const Outcome& outcome) {
  std::vector<std::string> errors;
  std::istringstream lines(outcome.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("harness: ")) errors.push_back(line);
  }
  return errors;
}

/// The one error of a command that ends with `code`, with its way out in `why`.
inline ErrorParts refusal_in(const Outcome& outcome, int code = 1) {
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == code);
  const std::vector<std::string> errors = error_lines(outcome);
  REQUIRE(errors.size() == 1);
  const std::string said = errors.front().substr(std::string("harness: ").size());
  const std::size_t colon = said.find(": ");
  REQUIRE(colon != std::string::npos);
  return {said.substr(0, colon), said.substr(colon + 2), ""};
}

/// The lines by which a command that was asked to stop says when it will.
inline std::vector<std::string> stop_lines(const Outcome& outcome) {
  std::vector<std::string> lines = error_lines(outcome);
  std::erase_if(lines, [](const std::string& line) {
    return line.find("once more to stop at once") == std::string::npos;
  });
  return lines;
}

/// One line on stderr that starts as all errors do, and nothing else there.
inline void check_one_error(const Outcome& outcome, int code, const std::string& part) {
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == code);
  CHECK_THAT(outcome.err, Catch::StartsWith("harness: "));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK_THAT(outcome.err, Catch::Contains(part));
}

}  // namespace harness
