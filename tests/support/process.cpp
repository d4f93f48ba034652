#include "tests/support/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace harness {
namespace {

std::filesystem::path temporary_file(int& fd) {
  std::string pattern = (std::filesystem::temp_directory_path() / "harness-out-XXXXXX").string();
  fd = ::mkstemp(pattern.data());
  if (fd < 0) throw std::runtime_error("mkstemp failed");
  return pattern;
}

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment, const std::filesystem::path& folder,
                 const std::string& program) {
  int out = -1;
  int err = -1;
  out_ = temporary_file(out);
  err_ = temporary_file(err);
  std::vector<std::string> words = {program.empty() ? harness_program() : program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = environment;
  pid_ = ::fork();
  if (pid_ == 0) {
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    // As a person starts it, even where whoever started us ignores them (nohup, a background job).
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
    for (std::string& variable : variables) ::putenv(variable.data());
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out);
  ::close(err);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

Process::~Process() {
  if (running()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
  std::error_code ignored;
  std::filesystem::remove(out_, ignored);
  std::filesystem::remove(err_, ignored);
}

void Process::signal(int number) const { ::kill(pid_, number); }

bool Process::running() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

std::string Process::errors() const { return content_of(err_); }

Outcome Process::wait() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (running()) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return {code, content_of(out_), content_of(err_)};
}

Outcome run_harness(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment,
                    const std::filesystem::path& folder) {
  return Process(arguments, environment, folder).wait();
}

Outcome run_in_shell(const std::string& before, const std::vector<std::string>& arguments,
                     const std::string& redirections, const std::vector<std::string>& environment) {
  std::string command = before + "; exec '" + harness_program() + "'";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  return Process({"-c", command + " " + redirections}, environment, {}, "bash").wait();
}

Outcome run_on_full_disk(const std::vector<std::string>& arguments,
                         const std::filesystem::path& temporary) {
  // A file size limit makes write(2) fail half way just as a full disk does.
  return run_in_shell("ulimit -f 8; trap '' XFSZ", arguments, "", {"TMPDIR=" + temporary.string()});
}

}  // namespace harness
