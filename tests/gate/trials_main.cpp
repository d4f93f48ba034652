// Prints the table of tests/README.md: how the gate decides in campaigns made of recorded noise.
#include <cstdio>
#include <exception>

#include "tests/gate/trials.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

int main(int argc, char** argv) {
  constexpr std::size_t kCampaigns = 5000;
  try {
    std::printf("| noise | candidate | same | faster | regressed | inconclusive | pairs |\n");
    std::printf("|---|---|---:|---:|---:|---:|---:|\n");
    for (const NoiseRecording& recording : all_recordings(argc > 1 ? argv[1] : ".")) {
      for (const double slowdown : {1.0, 1.02, 1.05, 1.10, 1 / 1.05}) {
        const TrialCounts counts = try_campaigns(recording, slowdown, kCampaigns, {}, 1);
        std::printf(
            "| %s | takes %.3f times as long | %.2f %% | %.2f %% | %.2f %% | %.2f %% | %.1f |\n",
            recording.name.c_str(), slowdown, 100 * counts.share(counts.same),
            100 * counts.share(counts.faster), 100 * counts.share(counts.regressed),
            100 * counts.share(counts.inconclusive), counts.pairs);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gate_trials: %s\n", error.what());
    return 1;
  }
  return 0;
}
