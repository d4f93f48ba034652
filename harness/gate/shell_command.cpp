#include "harness/gate/shell_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/run/interrupt.hpp"

namespace harness {
namespace {

constexpr int kLogMode = 0644;

/// File actions and attributes of one posix_spawn.
class SpawnPlan {
 public:
  explicit SpawnPlan(const std::string& log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, 1, log.c_str(), O_WRONLY | O_CREAT | O_EXCL,
                                       kLogMode);
    ::posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    ::posix_spawnattr_init(&attributes_);
    // A session of its own: Ctrl-C in the terminal reaches it once, through us, and there is no
    // terminal that it could ask for a password and wait.
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    // What we ignore ourselves, others expect to be as usual.
    sigset_t usual{};
    ::sigemptyset(&usual);
    ::sigaddset(&usual, SIGPIPE);
    ::sigaddset(&usual, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes_, &usual);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

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

// Woken by the child's end at once, and by signals to us: a poll is never restarted behind them.
class ChildWait {
 public:
  ChildWait(pid_t child, double limit_seconds)
      : child_(child), fd_(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))) {
    if (limit_seconds > 0) deadline_ = Clock::now() + seconds(limit_seconds);
    end_with_us(child);
  }
  ~ChildWait() {
    end_with_us(0);
    if (fd_ >= 0) ::close(fd_);
  }
  ChildWait(const ChildWait&) = delete;
  ChildWait& operator=(const ChildWait&) = delete;

  void until_it_ends() {
    while (!ended()) {
      wait_a_little();
      if (interrupt_requested() && !asked_) ask_to_end();
      if (Clock::now() < deadline_) continue;
      // Asked first, then made to.
      if (timed_out_) ::kill(-child_, SIGKILL);
      timed_out_ = true;
      ask_to_end();
      deadline_ = Clock::now() + seconds(kGrace);
    }
    // The child is not reaped yet, so nobody else can have its number. A run that was asked to stop
    // may still be writing what it measured.
    if (!interrupt_requested()) ::kill(-child_, SIGKILL);
  }
  bool timed_out() const { return timed_out_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kGrace = 10;

  static Clock::duration seconds(double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  }

  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
           info.si_pid == child_;
  }

  void wait_a_little() const {
    constexpr int kMilliseconds = 200;
    pollfd entry{fd_, POLLIN, 0};
    // An old kernel gives no such descriptor.
    if (fd_ < 0 || (::poll(&entry, 1, kMilliseconds) < 0 && errno != EINTR)) ::usleep(1000);
  }

  void ask_to_end() {
    asked_ = true;
    ::kill(-child_, SIGTERM);
    ::kill(-child_, SIGCONT);
  }

  pid_t child_;
  int fd_;
  bool asked_ = false;
  bool timed_out_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
};

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
  std::vector<std::string> argv = {"sh", "-c", command};
  std::vector<char*> arguments;
  for (std::string& word : argv) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> variables = environment_with(environment);
  std::vector<char*> entries;
  for (std::string& entry : variables) entries.push_back(entry.data());
  entries.push_back(nullptr);
  const SpawnPlan plan(log.string());

  pid_t child = 0;
  const auto start = std::chrono::steady_clock::now();
  const int failed = ::posix_spawn(&child, "/bin/sh", plan.actions(), plan.attributes(),
                                   arguments.data(), entries.data());
  if (failed != 0) {
    throw Error("command '" + printable(command, 80) + "'",
                "cannot be started: " + std::string(std::strerror(failed)),
                "its output would go to " + printable(log.string()));
  }
  ChildWait wait(child, limit_seconds);
  wait.until_it_ends();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  constexpr int kSignalled = 128;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status), took.count(),
          wait.timed_out()};
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
