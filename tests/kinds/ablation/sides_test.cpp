// Variants and peers as commands.
#include "harness/kinds/ablation/sides.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a variant is this program with the settings of its plan", "[ablation-sides]") {
  AblationRequest request;
  request.common["workload"] = "null";
  request.common["batch_size"] = 2;
  request.common["set"] = {"step-ms=1,2", "losses=it's"};
  request.variants = {"bf16"};
  const AblationPlan plan = make_ablation_plan(request, home_folder());
  const std::string command = variant_command(plan.variants[0].plan, "/a folder/x");
  CAPTURE(command);
  CHECK_THAT(command, Catch::StartsWith("/proc/"));
  CHECK_THAT(command, Catch::Contains("/exe run --lockstep --runs 1 "));
  for (const char* option :
       {" --workload 'null'", " --batch-size '2'", " --set 'step-ms=1,2' --set 'losses=it'\\''s'",
        " --kernels 'nothing=custom'", " --allocator 'pooled'", " --precision 'bf16'",
        " --seed '1'", " --out '/a folder/x'"}) {
    CHECK_THAT(command, Catch::Contains(option));
  }
}

TEST_CASE("a peer is known by its program and the files that its command names",
          "[ablation-sides]") {
  const TemporaryFolder folder;
  const std::string script = (folder / "side.py").string();
  std::ofstream(script) << "steps";
  const Peer peer =
      peer_of({"p", "THREADS=2 sh '" + script + "' --steps 3 " + (folder / "missing").string()});
  REQUIRE(peer.files.size() == 2);
  CHECK_THAT(peer.files[0].file, Catch::EndsWith("/sh"));
  CHECK(peer.files[0].sha256 == sha256_of_file(peer.files[0].file));
  CHECK(peer.files[1].file == script);
  CHECK(peer.files[1].sha256 == sha256_hex("steps"));
  CHECK(peer_of({"p", "no-such-program-anywhere"}).files.empty());
}
