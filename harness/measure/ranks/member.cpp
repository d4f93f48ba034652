#include "harness/measure/ranks/member.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/measure/ranks/hang_up.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

// So long a rank may stand still (SIGSTOP, a debugger) before it counts as lost.
constexpr double kStillSeconds = 5;

/// The letter of a process's state in /proc: 'T' is stopped, 't' by a debugger; ' ' where nothing
/// can be read.
char state_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= text.size() ? ' ' : text[name_end + 2];
}

/// What a process said last, on the way to an end that it did not hand over.
std::string last_words(const fs::path& errors) {
  std::ifstream file(errors);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return printable(last, 200);
}

}  // namespace

RanksFolder::RanksFolder() {
  std::string name = (fs::temp_directory_path() / "harness-ranks-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(printable(name), std::string("cannot be made: ") + std::strerror(errno),
                "TMPDIR names another folder for temporary files");
  }
  path_ = name;
}

RanksFolder::~RanksFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

/// Both ends, which children do not inherit.
class Member::Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("--ranks", std::strerror(errno));
    read_ = ends[0];
    write_ = ends[1];
  }
  ~Pipe() {
    ::close(read_);
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int write_end() const { return write_; }
  int read_end() const { return read_; }
  void close_write() {
    if (write_ >= 0) ::close(std::exchange(write_, -1));
  }

 private:
  int read_ = -1;
  int write_ = -1;
};

Member::Member(const RankOrder& order, const std::vector<std::string>& arguments, fs::path errors)
    : errors_(std::move(errors)), pipe_(std::make_unique<Pipe>()) {
  ignore_hang_up();
  process_ = start_run(arguments, variable_of(order), {errors_, pipe_->write_end()});
  pipe_->close_write();
}

Member::~Member() {
  if (ended_) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, &status_, 0);
}

pollfd Member::speaks_at() const { return {closed_ ? -1 : pipe_->read_end(), POLLIN, 0}; }

void Member::listen() {
  pollfd end = speaks_at();
  if (::poll(&end, 1, 0) <= 0) return;
  std::array<char, 1 << 16> bytes{};
  const ssize_t count = ::read(pipe_->read_end(), bytes.data(), bytes.size());
  if (count > 0) {
    end_.handed_over.append(bytes.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    closed_ = true;
  }
}

void Member::look_after(double now) {
  if (ended_) return;
  if (::waitpid(process_, &status_, WNOHANG) == process_) {
    ended_ = true;
    if (WIFSIGNALED(status_) && end_.lost.empty()) end_.lost = signal_text(status_);
    return;
  }
  const char state = state_of(process_);
  if (state != 'T' && state != 't') {
    still_since_ = 0;
  } else if (still_since_ == 0) {
    still_since_ = now;
  } else if (now - still_since_ > kStillSeconds) {
    end_.lost = "its process stands still";
    ::kill(process_, SIGKILL);
  }
}

void Member::tell(int signal) const {
  if (!ended_) ::kill(process_, signal);
}

void Member::give_up() {
  if (ended_ || !end_.lost.empty()) return;
  end_.given_up = true;
  end_.lost = "was ended, since its step went on after another rank was lost";
  ::kill(process_, SIGKILL);
}

MemberEnd Member::end() const {
  MemberEnd end = end_;
  if (!end.lost.empty()) return end;
  if (!end.handed_over.empty()) return end;
  end.lost = last_words(errors_);
  if (end.lost.empty()) end.lost = "its process ended without a word";
  return end;
}

}  // namespace harness
