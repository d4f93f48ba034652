// Prints the table of tests/README.md: how the gate decides in campaigns made of recorded noise.
//
// usage: gate_trials [SOURCE [CLUSTERS...]]      the most clusters of a campaign; 96 and 40
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/gate/trials.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

int main(int argc, char** argv) {
  constexpr std::size_t kCampaigns = 5000;
  std::vector<std::size_t> most;
  for (int i = 2; i < argc; ++i) most.push_back(std::strtoul(argv[i], nullptr, 10));
  if (most.empty()) most = {96, 40};
  try {
    std::printf("| noise | most | candidate | same | faster | regressed | inconclusive | used |\n");
    std::printf("|---|---:|---|---:|---:|---:|---:|---:|\n");
    for (const NoiseRecording& recording : all_recordings(argc > 1 ? argv[1] : ".")) {
      for (const std::size_t clusters : most) {
        for (const TriedCandidate& candidate : tried_candidates()) {
          GateOptions options;
          options.most_clusters = clusters;
          const TrialCounts counts =
              try_campaigns(recording, candidate.planted, kCampaigns, options, 1);
          std::printf("| %s | %zu | %s | %.2f %% | %.2f %% | %.2f %% | %.2f %% | %.1f |\n",
                      recording.name.c_str(), clusters, candidate.text.c_str(),
                      100 * counts.share(counts.same), 100 * counts.share(counts.faster),
                      100 * counts.share(counts.regressed), 100 * counts.share(counts.inconclusive),
                      counts.clusters);
        }
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gate_trials: %s\n", error.what());
    return 1;
  }
  return 0;
}
