#include "harness/lockstep/shell_command.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> list;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : more) {
      replaced = replaced || text.substr(0, text.find('=')) == name;
    }
    if (!replaced) list.emplace_back(text);
  }
  for (const auto& [name, value] : more) {
    std::string entry = name;
    list.push_back(entry.append("=").append(value));
  }
  return list;
}

Error not_started(const std::string& command, const std::filesystem::path& log, int why) {
  return {"command '" + printable(command, 80) + "'",
          "cannot be started: " + std::string(std::strerror(why)),
          "its output would go to " + printable(log.string())};
}

}  // namespace

std::unique_ptr<KeptProcess> start_shell_command(
    const std::string& command, const std::vector<std::pair<std::string, std::string>>& environment,
    const std::filesystem::path& log, KeptStreams streams, double limit_seconds) {
  std::vector<std::string> arguments = {"sh", "-c", command};
  std::vector<std::string> variables = environment_with(environment);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw not_started(command, log, errno);
  std::unique_ptr<KeptProcess> process;
  try {
    process = std::make_unique<KeptProcess>(
        exec_list(arguments).data(), exec_list(variables).data(), file, limit_seconds, streams);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);  // the keeper has a copy of its own
  return process;
}

ShellRun run_shell_command(const std::string& command,
                           const std::vector<std::pair<std::string, std::string>>& environment,
                           const std::filesystem::path& log, double limit_seconds) {
  const auto process = start_shell_command(command, environment, log, {}, limit_seconds);
  const KeptRun kept = process->wait();
  if (kept.start_errno != 0) throw not_started(command, log, kept.start_errno);
  ShellRun run;
  run.exit_code = kept.exit_code();
  run.seconds = kept.seconds;
  run.timed_out = kept.timed_out;
  run.output_bytes = kept.output_bytes;
  run.cut_bytes = kept.cut_bytes;
  if (kept.log_errno != 0) run.log_trouble = std::strerror(kept.log_errno);
  return run;
}

std::pair<std::string, std::string> environment_padding() {
  constexpr int kMostBytes = 4096;
  static std::mt19937 random{std::random_device{}()};
  const int bytes = std::uniform_int_distribution<int>(0, kMostBytes)(random);
  return {"HARNESS_PADDING", std::string(static_cast<std::size_t>(bytes), 'x')};
}

std::string last_line(const std::filesystem::path& log) {
  constexpr std::streamoff kTail = 4096;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  file.seekg(size > kTail ? size - kTail : 0);
  std::string last;
  std::string of_ours;
  for (std::string line; std::getline(file, line);) {
    if (!trim(line).empty()) last = trim(line);
    if (line.starts_with("harness: ")) of_ours = trim(line);
  }
  if (last.empty()) return kPrintedNothing;
  return printable(of_ours.empty() ? last : of_ours);
}

}  // namespace harness
