// The process of one rank, as the process sees it that started it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/measure/ranks/order.hpp"

namespace harness {

/// A folder for what the ranks say, which only its user may enter, for as long as this lives.
class RanksFolder {
 public:
  RanksFolder();
  ~RanksFolder();
  RanksFolder(const RanksFolder&) = delete;
  RanksFolder& operator=(const RanksFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// How a rank came to its end.
struct MemberEnd {
  std::string handed_over{};
  std::string lost{};     ///< how it was lost; empty: it ended by itself
  bool given_up = false;  ///< it was in good order, but did not end when another was lost
};

/// Killed with this, where it is still there.
class Member {
 public:
  /// Starts it with these arguments of `run`. `errors`: where its standard error goes; empty:
  /// ours, and it may speak there.
  Member(const RankOrder& order, const std::vector<std::string>& arguments,
         std::filesystem::path errors);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// For poll(): there something comes from it. A file of -1 when nothing more will.
  pollfd speaks_at() const;
  /// Takes what it hands over, if there is something.
  void listen();
  /// Whether it has ended, or stands still for too long; to be called again and again.
  void look_after(double now);
  void tell(int signal) const;
  /// Ends it, since it did not end by itself when another was lost.
  void give_up();

  /// It has ended, and nothing more will come from it.
  bool done() const { return ended_ && closed_; }
  /// It has not come to its end in good order.
  bool failed() const { return ended_ && (status_ != 0 || !end_.lost.empty()); }
  /// When done().
  MemberEnd end() const;

 private:
  class Pipe;

  std::filesystem::path errors_;
  std::unique_ptr<Pipe> pipe_;
  pid_t process_ = 0;
  bool closed_ = false;
  bool ended_ = false;
  int status_ = 0;
  double still_since_ = 0;  ///< 0: it is not standing still
  MemberEnd end_{};
};

}  // namespace harness
