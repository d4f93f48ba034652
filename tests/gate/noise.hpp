// Recordings of a machine's noise: times of the same work on one machine.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// What was recorded between two starts of all sides.
struct NoiseCluster {
  std::vector<double> starts{};               ///< seconds of each side until it was ready
  std::vector<std::vector<double>> rounds{};  ///< seconds of each side, round by round
};

/// One of the two is empty.
struct NoiseRecording {
  std::string name{};
  std::string description{};
  std::vector<double> seconds{};         ///< of runs one after the other
  std::vector<NoiseCluster> clusters{};  ///< of resident sides in lockstep

  bool resident() const { return !clusters.empty(); }
};

/// Reads a file of lines. `#` begins the description. Of runs, each line is a number of seconds. Of
/// resident sides the first line is `sides N`; `start S1 S2 ...` begins a cluster, and each `round
/// S1 S2 ...` is one round of it, always in the same order of sides. Throws std::runtime_error,
/// with the line, for anything else, and for a recording too short to draw campaigns from.
NoiseRecording read_recording(const std::filesystem::path& file);

/// All recordings in tests/noise/, by name.
std::vector<NoiseRecording> all_recordings(const std::filesystem::path& source);

/// Fewest runs, and fewest clusters, that campaigns are drawn from.
inline constexpr std::size_t kFewestRuns = 64;
inline constexpr std::size_t kFewestClusters = 8;

}  // namespace harness
