#include "harness/lockstep/keeper.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/steady.hpp"
#include "harness/lockstep/captured_output.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {
namespace {

constexpr int kNotStarted = 127;  // as the shell has it
constexpr int kPipeBytes = 1 << 20;
constexpr int kTickMilliseconds = 200;

Steady::duration seconds(double count) {
  return std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(count));
}

template <class T>
bool send_whole(int socket, const T& value) {
  return ::send(socket, &value, sizeof value, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof value);
}

/// False at the end of the other side.
template <class T>
bool receive_whole(int socket, T& value) {
  ssize_t n = 0;
  do {
    n = ::recv(socket, &value, sizeof value, MSG_WAITALL);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof value);
}

/// The keeper's child on its way to being the command. It waits for the word to start, so that
/// nothing of this is in the measured time.
[[noreturn]] void become_command(char* const* arguments, char* const* environment, int log,
                                 KeptStreams streams, int gate, pid_t keeper) {
  // Whatever ends the keeper ends its child; a keeper that is gone already is not our parent.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(kNotStarted);
  // A session of its own: Ctrl-C in the terminal reaches it once, through us, and there is no
  // terminal that it could ask for a password and wait.
  ::setsid();
  ::dup2(streams.input < 0 ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : streams.input, 0);
  ::dup2(streams.output < 0 ? log : streams.output, 1);
  ::dup2(log, 2);
  // What we ignore ourselves, others expect to be as usual; SIGTERM is how we ask it to end.
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGTERM}) ::signal(signal, SIG_DFL);
  char word = 0;
  send_whole(gate, word);
  if (receive_whole(gate, word)) {
    ::execve("/bin/sh", arguments, environment);
    send_whole(gate, errno);
  }
  ::_exit(kNotStarted);
}

/// The processes whose parent is `parent`.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  DIR* const processes = ::opendir("/proc");
  if (processes == nullptr) return children;
  while (const dirent* entry = ::readdir(processes)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string path = std::string("/proc/") + entry->d_name + "/stat";
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    std::array<char, 512> text{};
    const ssize_t n = ::read(file, text.data(), text.size() - 1);
    ::close(file);
    // PID (NAME) STATE PARENT ...; the name may hold anything.
    const char* const name_end = n > 0 ? std::strrchr(text.data(), ')') : nullptr;
    if (name_end == nullptr || std::strlen(name_end) < 4) continue;
    if (std::strtol(name_end + 4, nullptr, 10) == parent) children.push_back(pid);
  }
  ::closedir(processes);
  return children;
}

/// Closes all descriptors but those, and the standard streams. The commands of several keepers run
/// at once: none may hold what another one's end, or ours, is known by.
void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int file : kept) {
    if (file < 3) continue;
    const auto next = static_cast<unsigned>(file);
    if (next > first) ::close_range(first, next - 1, 0);
    first = next + 1;
  }
  ::close_range(first, ~0U, 0);
}

/// In a process of its own from the first line on. It allocates, which glibc allows behind a fork.
class Keeper {
 public:
  Keeper(int owner, int log, double limit_seconds, KeptStreams streams)
      : owner_(owner), captured_(log), limit_seconds_(limit_seconds), streams_(streams) {
    close_all_but({owner, log, streams.input, streams.output});
    ::setsid();
    // What the command starts becomes our child when its parent dies, wherever it hides.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Not to be hit by a 'killall harness' that is meant for the one we watch.
    ::prctl(PR_SET_NAME, "harness-keeper");
    ::signal(SIGCHLD, SIG_DFL);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = 0; stream <= 2; ++stream) ::dup2(null, stream);
  }

  /// False, with the reason in the report, where nothing was started.
  bool start(char* const* arguments, char* const* environment) {
    std::array<int, 2> output{};
    std::array<int, 2> gate{};
    if (::pipe2(output.data(), O_CLOEXEC) != 0 ||
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate.data()) != 0) {
      return not_started();
    }
    // A command that prints much is to wait for us as little as can be.
    ::fcntl(output[0], F_SETPIPE_SZ, kPipeBytes);
    ::fcntl(output[0], F_SETFL, O_NONBLOCK);
    const pid_t self = ::getpid();
    child_ = ::fork();
    if (child_ == 0) become_command(arguments, environment, output[1], streams_, gate[1], self);
    if (child_ < 0) return not_started();
    // Theirs alone: either end is known by its being closed.
    for (const int file : {streams_.input, streams_.output}) {
      if (file > 2) ::close(file);
    }
    ::close(output[1]);
    ::close(gate[1]);
    output_ = output[0];
    gate_ = gate[0];
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, child_, 0));
    send_whole(owner_, child_);
    char word = 0;
    receive_whole(gate_, word);
    start_ = Steady::now();
    if (limit_seconds_ > 0) deadline_ = start_ + seconds(limit_seconds_);
    send_whole(gate_, word);
    return true;
  }

  void until_it_ends() {
    while (!ended()) {
      std::array<pollfd, 3> entries = {
          {{owner_, POLLIN, 0}, {output_, POLLIN, 0}, {pidfd_, POLLIN, 0}}};
      // An old kernel gives no descriptor that tells of the end.
      ::poll(entries.data(), entries.size(), pidfd_ < 0 ? 1 : kTickMilliseconds);
      if (entries[1].revents != 0) take_output();
      if (entries[0].revents != 0) hear_owner();
      if (Steady::now() < deadline_) continue;
      // Asked first, then made to.
      if (report_.timed_out) ::kill(-child_, SIGKILL);
      report_.timed_out = true;
      ask_to_end();
      constexpr double kGrace = 10;
      deadline_ = Steady::now() + seconds(kGrace);
    }
    report_.seconds = std::chrono::duration<double>(Steady::now() - start_).count();
    // The child is not reaped yet, so nobody else can have its number. A run that was asked to stop
    // may still be writing what it measured.
    if (!stopping_) ::kill(-child_, SIGKILL);
    // What the pipe holds; somebody in a session of his own may go on writing.
    for (int taken = 0; taken < 2 * kPipeBytes;) {
      const int n = take_output();
      if (n <= 0) break;
      taken += n;
    }
    while (::waitpid(child_, &report_.status, 0) < 0 && errno == EINTR) continue;
    child_ = 0;
    // A resident side must leave nobody behind who could disturb the next one.
    if (streams_.output >= 0 && !stopping_) end_all();
    const bool failed = WIFEXITED(report_.status) && WEXITSTATUS(report_.status) == kNotStarted;
    int why = 0;
    if (failed && ::recv(gate_, &why, sizeof why, MSG_DONTWAIT) == sizeof why) {
      report_.start_errno = why;
    }
  }

  void tell() {
    if (!stopping_) captured_.finish();
    report_.output_bytes = captured_.bytes();
    report_.cut_bytes = captured_.cut();
    report_.log_errno = captured_.trouble();
    if (!send_whole(owner_, report_)) end_all();
    if (!stopping_) return;
    // Whoever is still stopping may print, and must not die of it.
    while (output_ >= 0) {
      pollfd entry{output_, POLLIN, 0};
      ::poll(&entry, 1, -1);
      take_output();
    }
    captured_.finish();
  }

 private:
  bool not_started() {
    report_.start_errno = errno;
    child_ = 0;
    send_whole(owner_, child_);
    return false;
  }

  bool ended() const {
    while (true) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) != 0) return true;
      if (info.si_pid == 0 || info.si_pid == child_) return info.si_pid == child_;
      ::waitpid(info.si_pid, nullptr, 0);  // an orphan that became ours
    }
  }

  /// Bytes taken; 0 or below where there is nothing to take.
  int take_output() {
    if (output_ < 0) return 0;
    const ssize_t n = ::read(output_, buffer_.data(), buffer_.size());
    if (n > 0) captured_.add({buffer_.data(), static_cast<std::size_t>(n)});
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      ::close(output_);
      output_ = -1;
    }
    return static_cast<int>(n);
  }

  void hear_owner() {
    char word = 0;
    const ssize_t n = ::recv(owner_, &word, sizeof word, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) {
      stopping_ = true;
      ask_to_end();
      return;
    }
    // The one for whom all this runs is gone.
    end_all();
    captured_.finish();
    ::_exit(0);
  }

  void ask_to_end() const {
    ::kill(-child_, SIGTERM);
    ::kill(-child_, SIGCONT);
  }

  /// As each of them dies, what it started becomes our child: again until there is none.
  void end_all() {
    constexpr double kMostSeconds = 30;
    const auto deadline = Steady::now() + seconds(kMostSeconds);
    if (child_ > 0) ::kill(-child_, SIGKILL);
    while (Steady::now() < deadline) {
      for (const pid_t pid : children_of(::getpid())) ::kill(pid, SIGKILL);
      pid_t reaped = 0;
      do {
        reaped = ::waitpid(-1, nullptr, WNOHANG);
      } while (reaped > 0);
      if (reaped < 0 && errno == ECHILD) return;
      ::usleep(2000);
    }
  }

  int owner_;
  CapturedOutput captured_;
  double limit_seconds_;
  KeptStreams streams_;
  pid_t child_ = 0;
  int output_ = -1;
  int gate_ = -1;
  int pidfd_ = -1;
  bool stopping_ = false;  ///< the owner was asked to stop
  Steady::time_point start_{};
  Steady::time_point deadline_ = Steady::time_point::max();
  KeptRun report_{};
  std::vector<char> buffer_ = std::vector<char>(std::size_t{256} << 10);
};

Error keeper_failure(const char* why) {
  return {"the process that watches over a command", why, "", ExitCode::kAborted};
}

}  // namespace

int KeptRun::exit_code() const {
  constexpr int kSignalled = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

KeptProcess::KeptProcess(char* const* arguments, char* const* environment, int log,
                         double limit_seconds, KeptStreams streams) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw keeper_failure(std::strerror(errno));
  }
  keeper_ = ::fork();
  if (keeper_ == 0) {
    // Ours alone: its end is how the keeper knows of our death.
    ::close(ends[0]);
    Keeper keeper(ends[1], log, limit_seconds, streams);
    if (keeper.start(arguments, environment)) keeper.until_it_ends();
    keeper.tell();
    ::_exit(0);
  }
  const int why = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (keeper_ < 0) {
    ::close(socket_);
    throw keeper_failure(std::strerror(why));
  }
  receive_whole(socket_, child_);
}

KeptProcess::~KeptProcess() {
  ::close(socket_);
  if (!asked_ || !end_) {
    ::waitpid(keeper_, nullptr, 0);
    return;
  }
  // Where a stop was asked for, the keeper stays for what is still printed: a shell ends before
  // what it started has written its last file. Whoever goes on must not meet it; but nobody waits
  // for ever.
  constexpr double kMostSeconds = 10;
  const auto deadline = Steady::now() + seconds(kMostSeconds);
  while (::waitpid(keeper_, nullptr, WNOHANG) == 0 && Steady::now() < deadline) ::usleep(5000);
}

void KeptProcess::ask_to_end() {
  if (!std::exchange(asked_, true)) send_whole(socket_, char{});
}

std::optional<KeptRun> KeptProcess::ended_within(double seconds) {
  if (end_) return end_;
  pollfd entry{socket_, POLLIN, 0};
  // Never restarted behind a signal.
  if (::poll(&entry, 1, static_cast<int>(seconds * 1000)) <= 0) return std::nullopt;
  KeptRun report;
  if (!receive_whole(socket_, report)) {
    if (child_ > 0) ::kill(-child_, SIGKILL);
    throw keeper_failure("was killed");
  }
  end_ = report;
  return end_;
}

KeptRun KeptProcess::wait() {
  while (true) {
    if (const auto end = ended_within(kTickMilliseconds / 1000.0)) return *end;
    if (interrupt_requested()) ask_to_end();
  }
}

}  // namespace harness
