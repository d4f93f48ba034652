// The gate's decision tried on thousands of campaigns that are made of recorded noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/gate/decision.hpp"

namespace harness {

/// Times of the same work, measured one after the other on one machine.
struct NoiseRecording {
  std::string name{};
  std::string description{};
  std::vector<double> seconds{};
};

/// Reads a file of lines: `#` begins the description, the others are numbers. Throws
/// std::runtime_error for anything else.
NoiseRecording read_recording(const std::filesystem::path& file);

/// All recordings in tests/noise/, by name.
std::vector<NoiseRecording> all_recordings(const std::filesystem::path& source);

struct TrialCounts {
  std::size_t campaigns = 0;
  std::size_t same = 0;
  std::size_t faster = 0;
  std::size_t regressed = 0;
  std::size_t inconclusive = 0;
  double pairs = 0;  ///< mean of a campaign

  double share(std::size_t count) const {
    return static_cast<double>(count) / static_cast<double>(campaigns);
  }
};

/// `campaigns` campaigns of a candidate that takes `slowdown` times as long as the baseline. The
/// runs of one are stretches of 8 to 64 values of the recording, each in its order, so that drift,
/// bursts and jumps of the machine are in them; the same seed gives the same campaigns everywhere.
TrialCounts try_campaigns(const NoiseRecording& recording, double slowdown, std::size_t campaigns,
                          const GateOptions& options, std::uint64_t seed);

}  // namespace harness
