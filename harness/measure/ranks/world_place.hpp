// Which rank of which world this process is, where each is started by itself: by hand, by mpirun,
// srun or torchrun.
#pragma once

#include <optional>
#include <string>

namespace harness {

/// Where the ranks of a run meet. Rank 0 listens there.
struct MeetingPlace {
  std::string host{};  ///< name or address
  int port = 0;        ///< 0: any that is free
  std::string key{};   ///< by which the processes of one run know each other
};

/// A longer wait for the others is a mistake.
inline constexpr double kMostWaitSeconds = 86'400;

struct WorldPlace {
  int rank = 0;
  int world = 1;
  MeetingPlace meeting{};
  double timeout_seconds = 300;  ///< for all ranks to come
};

/// What was given on the command line; the rest is taken from the environment.
struct AskedPlace {
  std::optional<std::string> rendezvous{};  ///< HOST:PORT
  std::optional<int> rank{};
  std::optional<int> world{};
  std::optional<double> timeout_seconds{};
};

/// Empty where neither the command line nor the environment says that this is one rank of several.
/// Throws Error for what does not add up, or leaves open where the ranks meet.
std::optional<WorldPlace> world_place(const AskedPlace& asked);

/// Processes that this one starts then see the same place in their environment.
void hand_down(const WorldPlace& place);

/// "node07" of "node[07-12,31]"; of a list as Slurm writes it.
std::string first_host(const std::string& list);

}  // namespace harness
