#include "tests/gate/trials.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <stdexcept>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kShortest = 8;
constexpr std::size_t kLongest = 64;

/// From 0 to `count` - 1. The library's own distributions differ from one to the next.
std::size_t below(std::size_t count, std::mt19937_64& random) {
  return static_cast<std::size_t>(random() % count);
}

/// Moving blocks (Künsch 1989) of random length.
std::vector<double> resample(const std::vector<double>& seconds, std::size_t count,
                             std::mt19937_64& random) {
  std::vector<double> values;
  while (values.size() < count) {
    const std::size_t length =
        std::min(kShortest + below(kLongest - kShortest + 1, random), seconds.size());
    const std::size_t start = below(seconds.size() - length + 1, random);
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(start);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(length));
  }
  values.resize(count);
  return values;
}

PairedMetric pairs_of(const std::vector<double>& seconds, double slowdown) {
  PairedMetric metric;
  for (std::size_t pair = 0; pair < seconds.size() / 2; ++pair) {
    const bool baseline_first = pair % 2 == 0;
    metric.base.push_back(seconds[2 * pair + (baseline_first ? 0 : 1)]);
    metric.candidate.push_back(slowdown * seconds[2 * pair + (baseline_first ? 1 : 0)]);
  }
  return metric;
}

}  // namespace

NoiseRecording read_recording(const std::filesystem::path& file) {
  NoiseRecording recording{file.stem().string(), "", {}};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("#")) {
      recording.description += line.substr(1);
      continue;
    }
    const auto value = parse_number(line);
    if (!value || *value <= 0) throw std::runtime_error(file.string() + ": not a time: " + line);
    recording.seconds.push_back(*value);
  }
  if (recording.seconds.size() < kLongest) throw std::runtime_error(file.string() + ": too short");
  return recording;
}

std::vector<NoiseRecording> all_recordings(const std::filesystem::path& source) {
  std::vector<NoiseRecording> recordings;
  for (const auto& entry : std::filesystem::directory_iterator(source / "tests" / "noise")) {
    if (entry.path().extension() == ".txt") recordings.push_back(read_recording(entry.path()));
  }
  std::sort(recordings.begin(), recordings.end(),
            [](const NoiseRecording& a, const NoiseRecording& b) { return a.name < b.name; });
  return recordings;
}

TrialCounts try_campaigns(const NoiseRecording& recording, double slowdown, std::size_t campaigns,
                          const GateOptions& options, std::uint64_t seed) {
  TrialCounts counts;
  counts.campaigns = campaigns;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < campaigns; ++i) {
    const PairedMetric metric =
        pairs_of(resample(recording.seconds, 2 * options.most_pairs, random), slowdown);
    const CampaignDecision decision = decide(std::vector{metric}, options);
    counts.pairs += static_cast<double>(decision.pairs_wanted) / static_cast<double>(campaigns);
    switch (decision.metrics[0].verdict) {
      case Verdict::kSame:
        ++counts.same;
        break;
      case Verdict::kFaster:
        ++counts.faster;
        break;
      case Verdict::kRegressed:
        ++counts.regressed;
        break;
      case Verdict::kInconclusive:
        ++counts.inconclusive;
        break;
    }
  }
  return counts;
}

}  // namespace harness
