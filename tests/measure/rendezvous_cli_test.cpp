// End to end: ranks that are started one by one, as on several machines; worlds that do not add
// up; strangers at the port; what becomes of a run where a rank, or the process behind it, is lost.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/support/process.hpp"
#include "tests/support/rank_process.hpp"
#include "tests/support/rank_runs.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/world.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Connects, sends `bytes`, and hears until the other end closes.
std::string say_to(const World& world, const std::string& bytes) {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string at = world.address();
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(at.substr(at.find(':') + 1))));
  REQUIRE(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ::send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::string heard;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::recv(file, buffer.data(), buffer.size(), 0)) > 0;) {
    heard.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(file);
  return heard;
}

/// Two ranks in the midst of a long run.
struct Stepping {
  TemporaryFolder out{};
  World world{out.path()};
  std::unique_ptr<Process> follower = start_rank(world.steps(1, 3000));
  std::unique_ptr<Process> leader = start_rank(world.steps(0, 3000));

  Stepping() { wait_for_first_step(out.path()); }
};

}  // namespace

TEST_CASE("ranks that are started one by one are one run", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out.path());
  const bool late = GENERATE(false, true);
  std::unique_ptr<Process> follower;
  if (!late) follower = start_rank(world.steps(1, 8, {"--batch-size", "3"}));
  const auto leader = start_rank(world.steps(0, 8, {"--batch-size", "3"}));
  if (late) {
    wait_until([&] { return leader->errors().find("waiting at") != std::string::npos; });
    CHECK_THAT(leader->errors(), Catch::Contains(world.address()) && Catch::Contains("rank 1"));
    follower = start_rank(world.steps(1, 8, {"--batch-size", "3"}));
  }
  const Outcome led = leader->wait();
  const Outcome followed = follower->wait();
  CAPTURE(led.out, led.err, followed.out, followed.err);
  REQUIRE(led.code == 0);
  CHECK(followed.code == 0);
  CHECK(followed.out.empty());
  const json result = only_result(out.path());
  CHECK(result["settings"]["effective"]["ranks"] == 2);
  CHECK(result["world"]["global_batch_size"] == 6);
  CHECK(result["world"]["nodes"] == 1);  // two processes of one machine
  CHECK(result["world"]["members"][1]["node"] == 0);
  CHECK_FALSE(result["world"]["members"][1]["cpu_model"].get<std::string>().empty());
  CHECK(result["world"]["members"][0]["cpus"] != result["world"]["members"][1]["cpus"]);
  CHECK(files_ending(out.path(), ".jsonl").size() == 2);
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}

TEST_CASE("what starts a process for each rank says which one it is", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out.path());
  const std::string port = world.address().substr(world.address().find(':') + 1);
  const auto of = [&](const std::string& rank) {
    return std::map<std::string, std::vector<std::string>>{
        {"torchrun",
         {"RANK=" + rank, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
          "TORCHELASTIC_RUN_ID=a-run"}},
        {"mpirun",
         {"OMPI_COMM_WORLD_RANK=" + rank, "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
          "PMIX_NAMESPACE=prterun-test-" + port + "@1"}},
        {"srun",
         {"SLURM_PROCID=" + rank, "SLURM_STEP_NUM_TASKS=2", "SLURM_JOB_ID=" + port,
          "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=127.0.0.1"}},
        {"variables",
         {"HARNESS_RANK=" + rank, "HARNESS_WORLD=2", "HARNESS_RENDEZVOUS=" + world.address(),
          "HARNESS_RUN_KEY=k"}}};
  };
  const std::string starter = GENERATE("torchrun", "mpirun", "srun", "variables");
  const std::vector<std::string> arguments = {"run",     "--workload", "null",
                                              "--steps", "8",          "--rendezvous-timeout",
                                              "30",      "--out",      out.path().string()};
  Process follower(arguments, of("1").at(starter));
  Process leader(arguments, of("0").at(starter));
  const Outcome led = leader.wait();
  CAPTURE(starter, led.out, led.err);
  CHECK(led.code == 0);
  CHECK(follower.wait().code == 0);
  CHECK(only_result(out.path())["world"]["ranks"] == 2);
}

TEST_CASE("worlds that do not add up are errors, never runs of one", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out.path());
  const auto refused = [&](const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment = {run_key()}) {
    return refusal_in(run_harness(arguments, environment));
  };
  const std::vector<std::string> alone = {"run", "--workload", "null"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), alone.begin(), alone.end());
    return more;
  };
  CHECK(refused(with({"--rank", "0"})).about == "--rank");
  CHECK(refused(with({"--world", "2"})).about == "--world");
  CHECK(refused(with({"--rendezvous", "127.0.0.1:29400"})).names("--rank"));
  CHECK(refused(with({"--rank", "2", "--world", "2"})).about == "rank 2");
  CHECK(refused(with({"--rank", "0", "--world", "2"})).names("--rendezvous"));
  for (const char* bad : {"here", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
                          ":29400", "::1:29400", "127.0.0.1:x"}) {
    INFO(bad);
    const std::string about =
        refused(with({"--rank", "0", "--world", "2", "--rendezvous", bad})).about;
    CHECK_THAT(about, Catch::StartsWith("--rendezvous"));
  }
  CHECK(refused(world.steps(0, 8), {"HARNESS_RUN_KEY="}).about == "HARNESS_RUN_KEY");
  CHECK(refused(world.steps(0, 8, {"--ranks", "3"})).about == "--ranks 3");
  CHECK(refused(world.steps(1, 8, {"--lockstep"})).about == "--lockstep");
  CHECK(refused(alone, {"HARNESS_RANK=x", "HARNESS_WORLD=2"}).about.find("HARNESS_RANK") == 0);
  CHECK(refused(alone, {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2",
                        "OMPI_COMM_WORLD_LOCAL_SIZE=1", "HARNESS_RUN_KEY=k"})
            .names("--rendezvous"));
  // Neither a machine without that address nor one that nobody knows can be rank 0's.
  const auto at = [&](const std::string& address) {
    return with(
        {"--rank", "0", "--world", "2", "--rendezvous", address, "--rendezvous-timeout", "1"});
  };
  CHECK(refused(at("192.0.2.1:29400")).names("machine"));
  CHECK(refused(at("no.such.host.invalid:29400")).about.find("no.such.host.invalid") !=
        std::string::npos);
  CHECK(results_in(out.path()).empty());
}

TEST_CASE("a rank that never comes is an error within the timeout", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out / "run");
  std::vector<std::string> arguments = world.steps(0, 8, {}, 3);
  *std::find(arguments.begin(), arguments.end(), "30") = "2";
  const ErrorParts missing = refusal_in(run_harness(arguments, {run_key()}));
  CHECK(missing.about == "ranks 1, 2");
  CHECK(missing.names("2"));
  arguments = world.steps(1, 8);
  *std::find(arguments.begin(), arguments.end(), "30") = "2";
  const ErrorParts nobody = refusal_in(run_harness(arguments, {run_key()}));
  CHECK(nobody.about == "rank 1");
  CHECK(nobody.names(world.address()));
  CHECK_FALSE(fs::exists(out / "run"));
}

TEST_CASE("nobody comes in who is not of the world", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out.path());
  const auto leader = start_rank(world.steps(0, 8, {}, 3));
  wait_until([&] { return leader->errors().find("waiting at") != std::string::npos; });
  // Another world, another key, a second rank 0, the same rank twice.
  CHECK(refusal_in(run_harness(world.steps(1, 8), {run_key()})).about == "rank 1");
  CHECK(refusal_in(run_harness(world.steps(1, 8, {}, 3), {"HARNESS_RUN_KEY=other"})).about ==
        "rank 1");
  CHECK(refusal_in(run_harness(world.steps(0, 8, {}, 3), {run_key()})).names("--rendezvous"));
  const auto first = start_rank(world.steps(1, 8, {}, 3));
  wait_until([&] { return first->errors().find("rank 1 waits") != std::string::npos; });
  CHECK(refusal_in(run_harness(world.steps(1, 8, {}, 3), {run_key()})).names("rank 1 already"));
  // Garbage, half a line, a line without end, what another protocol says, silence.
  for (const std::string& bytes :
       {std::string(100, '\xff') + "\n", std::string("{\"word\": \"a\"}\n"), std::string("\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string("{\"put\": \"a\", \"value\": \"b\"}\n"),
        std::string(3 << 20, 'x'),
        std::string(R"({"word":"a","proof":"b","as":"rank","rank":1,)") +
            R"("world":3,"here":{}})" + "\n",
        std::string()}) {
    CHECK(say_to(world, bytes).find("proof") == std::string::npos);
  }
  const auto second = start_rank(world.steps(2, 8, {}, 3));
  const Outcome led = leader->wait();
  CAPTURE(led.out, led.err);
  CHECK(led.code == 0);
  CHECK(second->wait().code == 0);
  CHECK(first->wait().code == 0);
  CHECK(only_result(out.path())["world"]["ranks"] == 3);
}

TEST_CASE("ranks with other settings are named", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out / "run");
  const auto follower = start_rank(world.steps(1, 8, {"--batch-size", "2"}));
  const auto leader = start_rank(world.steps(0, 8));
  const Outcome led = leader->wait();
  CAPTURE(led.out, led.err);
  const ErrorParts parts = refusal_in(led);
  CHECK(parts.about == "rank 1");
  CHECK(parts.names("batch_size"));
  CHECK(follower->wait().code == 1);
}

TEST_CASE("more ranks than CPUs of a machine need a word", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out / "run");
  const auto follower = start_rank(world.steps(1, 8, {"--cpus", "0"}));
  const ErrorParts parts = refusal_in(run_harness(world.steps(0, 8, {"--cpus", "0"}), {run_key()}));
  CHECK(parts.about == "rank 0");
  CHECK(parts.names("--oversubscribe"));
  CHECK(follower->wait().code == 1);
}

TEST_CASE("a process that is lost ends the run everywhere", "[ranks][rendezvous]") {
  const Stepping ranks;
  const std::string lost = GENERATE("rank 0", "rank 1", "launcher of rank 1");
  if (lost == "rank 0") {
    ::kill(rank_process(ranks.leader->id(), 0), SIGKILL);
  } else if (lost == "rank 1") {
    ::kill(rank_process(ranks.follower->id(), 1), SIGKILL);
  } else {
    ranks.follower->signal(SIGKILL);
  }
  const Outcome led = ranks.leader->wait();
  const Outcome followed = ranks.follower->wait();
  CAPTURE(lost, led.out, led.err, followed.out, followed.err);
  CHECK(led.code == 2);
  REQUIRE(error_lines(led).size() == 1);
  CHECK_THAT(error_lines(led)[0], Catch::Contains(lost.substr(lost.find("rank"))));
  if (lost != "launcher of rank 1") {
    CHECK(followed.code == 2);
    CHECK(error_lines(followed).empty());  // one line from one rank
  }
  const json result = only_result(ranks.out.path());
  CHECK(result["status"]["state"] == "aborted");
  CHECK_FALSE(result["metrics"][0]["samples"].empty());
  CHECK(run_harness({"validate", ranks.out.path().string()}).code == 3);
}

TEST_CASE("ranks end when the process of rank 0 is lost", "[ranks][rendezvous]") {
  const Stepping ranks;
  ranks.leader->signal(SIGKILL);
  ranks.leader->wait();
  const Outcome followed = ranks.follower->wait();
  CAPTURE(followed.out, followed.err);
  CHECK(followed.code == 2);
  CHECK(error_lines(followed).size() == 1);
  CHECK_THAT(followed.err, Catch::Contains("rank 0"));
}

TEST_CASE("a machine that falls silent counts as lost", "[ranks][rendezvous][long]") {
  const Stepping ranks;
  const pid_t rank = rank_process(ranks.follower->id(), 1);
  ranks.follower->signal(SIGSTOP);
  ::kill(rank, SIGSTOP);
  const Outcome led = ranks.leader->wait();
  CAPTURE(led.out, led.err);
  CHECK(led.code == 2);
  REQUIRE(error_lines(led).size() == 1);
  CHECK_THAT(error_lines(led)[0], Catch::Contains("rank 1: its machine does not answer"));
  CHECK(only_result(ranks.out.path())["status"]["state"] == "aborted");
  ::kill(rank, SIGCONT);
  ranks.follower->signal(SIGCONT);
  CHECK(ranks.follower->wait().code == 2);
}

TEST_CASE("Ctrl-C on one rank stops all after the same step", "[ranks][rendezvous]") {
  const Stepping ranks;
  (GENERATE(true, false) ? ranks.leader : ranks.follower)->signal(SIGINT);
  const Outcome led = ranks.leader->wait();
  const Outcome followed = ranks.follower->wait();
  CAPTURE(led.out, led.err, followed.out, followed.err);
  CHECK(led.code == 2);
  CHECK(followed.code == 2);
  CHECK(only_result(ranks.out.path())["status"]["state"] == "aborted");
  check_same_steps(ranks.out.path());
}

TEST_CASE("a series of trainings meets anew for each run", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out.path());
  const auto training_of = [&](int rank, const std::vector<std::string>& more) {
    std::vector<std::string> list = training(out.path(), more);
    const std::vector<std::string> place = world.arguments(rank);
    list.insert(list.end(), place.begin() + 1, place.end());
    return list;
  };
  const auto follower = start_rank(training_of(1, {"--runs", "2"}));
  const auto leader = start_rank(training_of(0, {"--runs", "2"}));
  const Outcome led = leader->wait();
  const Outcome followed = follower->wait();
  CAPTURE(led.out, led.err, followed.out, followed.err);
  REQUIRE(led.code == 0);
  CHECK(followed.code == 0);
  CHECK(results_in(out.path()).size() == 2);
  check_log_passes(out.path());
}

TEST_CASE("a training in ranks on several machines goes on after a kill", "[ranks][rendezvous]") {
  const TemporaryFolder out;
  const World world(out.path());
  const auto with_place = [&](std::vector<std::string> list, int rank) {
    const std::vector<std::string> place = world.arguments(rank);
    list.insert(list.end(), place.begin() + 1, place.end());
    return list;
  };
  const std::vector<std::string> slow = training(out.path(), {"--set", "step-ms=30"});
  const auto follower = start_rank(with_place(slow, 1));
  const auto leader = start_rank(with_place(slow, 0));
  wait_until([&] { return !files_ending(out.path(), ".checkpoint").empty(); });
  ::kill(rank_process(follower->id(), 1), SIGKILL);
  const Outcome led = leader->wait();
  CAPTURE(led.out, led.err);
  REQUIRE(led.code == 2);
  CHECK(follower->wait().code == 2);
  const std::vector<std::string> on = {"run", "--resume", out.path().string()};
  const auto follower_on = start_rank(with_place(on, 1));
  const auto leader_on = start_rank(with_place(on, 0));
  const Outcome done = leader_on->wait();
  const Outcome done_behind = follower_on->wait();
  CAPTURE(done.out, done.err, done_behind.err);
  CHECK(done.code == 0);
  CHECK(done_behind.code == 0);
}
