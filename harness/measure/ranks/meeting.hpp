// Where the processes of a run in ranks meet: the process of rank 0 listens, lets in who knows the
// run's key, keeps what the ranks tell each other of their addresses, and hears how the processes
// on other machines fare.
#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/lockstep/line_channel.hpp"
#include "harness/measure/ranks/world_place.hpp"

namespace harness {

class Meeting {
 public:
  /// A process of another rank, which started it and watches it.
  struct Launcher {
    nlohmann::json here{};               ///< what it says of its machine
    std::string handed_over{};           ///< by its rank
    std::optional<std::string> ended{};  ///< how the rank was lost; empty text: by itself
    bool failed = false;                 ///< it ended, not in good order
    bool given_up = false;               ///< it was ended, since another was lost
    std::vector<std::string> doubts{};   ///< why its machine is not to be trusted
    double cpu_seconds = 0;              ///< that its rank took
    /// Since when it has not been heard, of one that went, or fell silent, before it said that the
    /// rank ended; 0: none of these.
    double gone_since = 0;
  };

  /// Listens. Throws Error where that cannot be, or the host's name is not known within so long.
  Meeting(const MeetingPlace& at, int world, double timeout_seconds);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// With the address and port that it listens on.
  const MeetingPlace& place() const { return place_; }

  /// Hears what there is, waiting for at most so long, or until one of `others` has something.
  void serve(double seconds, const std::vector<pollfd>& others = {});

  /// By rank, those that are there or were.
  std::map<int, Launcher>& launchers() { return launchers_; }
  const std::map<int, Launcher>& launchers() const { return launchers_; }
  /// A launcher that went is forgotten: another may come in its place.
  void forget_gone();
  /// To the launcher of that rank, where it is still there.
  void tell(int rank, const nlohmann::json& message);

 private:
  struct Connection;

  void accept_one();
  void send(Connection& connection, const nlohmann::json& message);
  void listen_to(Connection& connection);
  void hear(Connection& connection, const nlohmann::json& message);
  void let_in(Connection& connection, const nlohmann::json& message);
  void hear_rank(Connection& connection, const nlohmann::json& message);
  void hear_launcher(Connection& connection, const nlohmann::json& message);
  void look_after(Connection& connection, double now);
  void close(Connection& connection);

  MeetingPlace place_;
  int world_;
  int listener_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_{};
  std::map<std::string, std::string> told_{};  ///< by the ranks, of themselves
  std::map<int, Launcher> launchers_{};
  double last_sign_ = 0;
};

}  // namespace harness
