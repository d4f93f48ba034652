// End to end: programs of others among the variants of `harness ablate`.
#include <catch2/catch.hpp>

#include <fstream>

#include "harness/base/hash.hpp"
#include "tests/support/ablate_null.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A peer in the shell that answers each order of steps by `answer`, and may not be asked for a
/// quality, which nobody judges.
std::string peer_that(const std::string& answer) {
  return R"(echo '{"lockstep":1,"name":"shell 1.0","unit":"step"}'; )"
         "while read -r line; do case $line in *finish*) exit 0;; *evaluate*) exit 9;; *) " +
         answer + ";; esac; done";
}

/// A peer that sleeps, and times that itself: a busy machine may make it late, but not wrong.
std::string sleeping_peer(const fs::path& script) {
  std::ofstream(script) << peer_that(
      R"(s=${EPOCHREALTIME/./}; sleep 0.5; t=$((${EPOCHREALTIME/./} - s)); )"
      R"(printf '{"seconds":[%d.%06d]}\n' $((t / 1000000)) $((t % 1000000)))");
  return "bash " + script.string();
}

}  // namespace

TEST_CASE("peers step in turn with the variants and come last", "[ablate]") {
  const TemporaryFolder out;
  const std::string twin = harness_program() + " run --workload null --set step-ms=200 --lockstep" +
                           " --out " + (out / "twin").string();
  const Outcome outcome =
      ablate_once(out / "a.json",
                  {"--variants", "out-of-the-box", "--rounds", "2", "--set", "step-ms=100",
                   "--peer", "twin=" + twin, "--peer", "shell=" + sleeping_peer(out / "peer.sh")});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, HasLines({"twin is a peer: null harness *"}));
  const json ablation = read_ablation(out / "a.json");
  CHECK(names_of_variants(ablation) == std::vector<std::string>{"out-of-the-box", "twin", "shell"});
  const json& peer = ablation["variants"][1];
  CHECK(peer["settings"].is_null());
  CHECK(peer["ratio_to_previous"].is_null());
  CHECK(peer["quality"].is_null());
  CHECK(peer["ratio_to_first"]["median"] < 0.9);
  CHECK(peer["peer"]["command"] == twin);
  CHECK(peer["peer"]["files"][0]["file"] == harness_program());
  CHECK(peer["peer"]["files"][0]["sha256"] == sha256_of_file(harness_program()));
  CHECK(ablation["variants"][2]["peer"]["version"] == "shell 1.0");
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
  check_with_python("ablation", out / "a.json", {"/variants/1", "/variants/1/peer"});
}

TEST_CASE("a peer that fails is named, with its last words", "[ablate]") {
  const TemporaryFolder out;
  const TemporaryFolder temporary;  // where the logs stay
  const auto with_peer = [&](const std::string& file, const std::string& command) {
    std::vector<std::string> arguments = ablate_null(
        out / file,
        {"--variants", "pooled", "--clusters", "1", "--rounds", "3", "--peer", "other=" + command});
    return run_harness(arguments, {"TMPDIR=" + temporary.path().string()});
  };
  const Outcome never = with_peer("never.json", "echo no licence >&2; exit 7");
  CAPTURE(never.err);
  CHECK_THAT(refusal_in(never),
             is_about("other, cluster 1", {"exit code 7, and said: no licence"}));
  CHECK_FALSE(fs::exists(out / "never.json"));

  const Outcome nonsense = with_peer("nonsense.json", peer_that("echo '{}'"));
  CHECK(refusal_in(nonsense).about == "other, cluster 1");

  const std::string twice =
      "n=0; " + peer_that(R"(n=$((n+1)); [ $n -lt 3 ] || exit 5; echo '{"seconds":[0.001]}')");
  const Outcome dies = with_peer("dies.json", twice);
  CAPTURE(dies.err);
  CHECK(refusal_in(dies, 2).about == "other, cluster 1");
  const json ablation = read_ablation(out / "dies.json");
  CHECK(ablation["status"]["state"] == "aborted");
  CHECK(ablation["variants"][1]["turns"].size() == 2);
  CHECK(run_harness({"validate", (out / "dies.json").string()}).code == 3);

  const Outcome diverges =
      with_peer("diverges.json", peer_that(R"(echo '{"seconds":[0.001],"losses":{"a":[null]}}')"));
  CHECK(diverges.code == 3);
  CHECK_THAT(diverges.out, Catch::Contains("other: loss 'a'"));
}

TEST_CASE("a peer whose clock is wrong makes its ratio doubtful and the ablation invalid",
          "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome =
      ablate_once(out / "a.json", {"--variants", "pooled", "--rounds", "3", "--peer",
                                   "fast=" + peer_that(R"(sleep 0.2; echo '{"seconds":[0.1]}')")});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, HasLines({"fast *100.00 ms  doubtful*"}));
  CHECK_THAT(outcome.out, HasLines({"doubtful: fast says that a turn takes 100.00 ms*"}));
  CHECK_THAT(outcome.out, Catch::Contains("peer-clock at /variants/1/peer"));
  const json ablation = read_ablation(out / "a.json");
  CHECK(ablation["status"]["state"] == "invalid");
  CHECK_THAT(ablation["variants"][1]["peer"]["doubt"].get<std::string>(),
             Catch::EndsWith("by our clock, in 1 of 1 clusters"));
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 3);
  check_with_python("ablation", out / "a.json", {"/variants/1/peer"});
}

TEST_CASE("a peer that counts in another unit is refused before the first turn", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(
      ablate_null(out / "a.json",
                  {"--peer", R"(other=echo '{"lockstep":1,"name":"q","unit":"query"}'; cat)"}),
      {"TMPDIR=" + out.path().string()});
  CHECK_THAT(refusal_in(outcome), is_about("other, cluster 1", {"'query'"}));
  CHECK_FALSE(fs::exists(out / "a.json"));
}
