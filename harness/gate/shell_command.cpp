#include "harness/gate/shell_command.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/keeper.hpp"

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

/// Without their quotes.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  for (const std::string& word : split(command, ' ')) {
    std::string_view bare = trim(word);
    while (!bare.empty() && (bare.front() == '\'' || bare.front() == '"')) bare.remove_prefix(1);
    while (!bare.empty() && (bare.back() == '\'' || bare.back() == '"')) bare.remove_suffix(1);
    if (!bare.empty()) words.emplace_back(bare);
  }
  return words;
}

}  // namespace

ShellRun run_shell_command(const std::string& command,
                           const std::vector<std::pair<std::string, std::string>>& environment,
                           const std::filesystem::path& log, double limit_seconds) {
  std::vector<std::string> arguments = {"sh", "-c", command};
  std::vector<std::string> variables = environment_with(environment);
  const auto refuse = [&](int why) {
    return Error("command '" + printable(command, 80) + "'",
                 "cannot be started: " + std::string(std::strerror(why)),
                 "its output would go to " + printable(log.string()));
  };
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw refuse(errno);
  KeptRun kept;
  try {
    kept = run_kept(exec_list(arguments).data(), exec_list(variables).data(), file, limit_seconds);
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
  if (kept.start_errno != 0) throw refuse(kept.start_errno);
  constexpr int kSignalled = 128;
  ShellRun run;
  run.exit_code =
      WIFEXITED(kept.status) ? WEXITSTATUS(kept.status) : kSignalled + WTERMSIG(kept.status);
  run.seconds = kept.seconds;
  run.timed_out = kept.timed_out;
  run.output_bytes = kept.output_bytes;
  run.cut_bytes = kept.cut_bytes;
  if (kept.log_errno != 0) run.log_trouble = std::strerror(kept.log_errno);
  return run;
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
  if (last.empty()) return "it printed nothing";
  return printable(of_ours.empty() ? last : of_ours);
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(letter);
    }
  }
  return word.append("'");
}

bool ends_in_harness_run(const std::string& command) {
  const auto is_operator = [](const std::string& word) {
    return word.find_first_of(";|&<>") != std::string::npos;
  };
  const std::vector<std::string> words = words_of(command);
  bool mentioned = false;
  bool last = false;
  bool within_a_shell = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string program = std::filesystem::path(words[i]).filename().string();
    const bool run = i + 1 < words.size() && words[i + 1] == "run";
    if (is_operator(words[i])) last = false;
    if (words[i] == "-c" || words[i] == "-lc") within_a_shell = true;
    if (run && (program == "harness" || program == "quickstart")) mentioned = last = true;
  }
  if (!mentioned || (last && !within_a_shell)) return last;
  throw Error("command '" + printable(command, 80) + "'",
              "has something behind its 'harness run', or around it",
              "put it last and by itself: the gate keeps its output and reads its results");
}

}  // namespace harness
