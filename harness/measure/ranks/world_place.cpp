#include "harness/measure/ranks/world_place.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/settings.hpp"

namespace harness {
namespace {

constexpr const char* kRendezvous = "HARNESS_RENDEZVOUS";
constexpr const char* kRank = "HARNESS_RANK";
constexpr const char* kWorld = "HARNESS_WORLD";
constexpr const char* kTimeout = "HARNESS_RENDEZVOUS_TIMEOUT";
constexpr const char* kKey = "HARNESS_RUN_KEY";
constexpr int kMostPort = 65'535;

/// Empty where it is not set; also for a null `name`.
std::string variable(const char* name) {
  const char* text = name == nullptr ? nullptr : std::getenv(name);
  return text == nullptr ? std::string() : text;
}

/// Of a program that starts one process a rank: where it says which one this is.
struct Starter {
  const char* name;
  const char* rank;
  const char* world;
  const char* job;  ///< what tells its run from others; null: nothing does
};

// The one nearest to us first: torchrun is started by srun, mpirun in what Slurm granted. A script
// that sbatch runs has SLURM_NTASKS and SLURM_PROCID, too, and is alone; only srun speaks of a
// step.
constexpr Starter kStarters[] = {
    {"the environment", kRank, kWorld, nullptr},
    {"torchrun", "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", nullptr},
};

int number_of(const char* name, int low, int high) {
  return static_cast<int>(integer_in(name, variable(name), low, high));
}

const Starter* starter_here() {
  for (const Starter& one : kStarters) {
    if (!variable(one.rank).empty() && !variable(one.world).empty()) return &one;
  }
  return nullptr;
}

/// HOST:PORT, [ADDRESS]:PORT.
MeetingPlace parse_meeting(const std::string& what, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    host.clear();  // where would the port begin?
  if (colon == std::string::npos || host.empty()) {
    throw Error(what + " " + printable(text), "is not HOST:PORT",
                "such as 10.0.0.1:29400, of the machine of rank 0");
  }
  const std::string port = text.substr(colon + 1);
  return {host,
          static_cast<int>(integer_in(what + " HOST:" + printable(port), port, 1, kMostPort)),
          {}};
}

/// A port that all ranks of one job come to by themselves.
int port_of_job(const std::string& job) {
  // Above those of services and below those that systems hand out.
  constexpr unsigned kLowest = 20'000;
  constexpr unsigned kPorts = 10'000;
  unsigned sum = 0;
  for (const char c : job) sum = sum * 31 + static_cast<unsigned char>(c);
  return static_cast<int>(kLowest + sum % kPorts);
}

bool all_on_this_machine(const Starter& starter) {
  const std::string local = variable("OMPI_COMM_WORLD_LOCAL_SIZE");
  return std::string(starter.name) == "mpirun" && local == variable(starter.world);
}

/// What tells the starter's run from others; empty where nothing does.
std::string job_of(const Starter& starter) {
  const std::string job = variable(starter.job);
  return job == "none" ? std::string() : job;  // as torchrun has it without an id
}

/// Empty where the starter does not say it.
std::optional<MeetingPlace> meeting_of(const Starter& starter) {
  const std::string job = job_of(starter) + variable("SLURM_STEP_ID");
  const std::string address = variable("MASTER_ADDR");
  if (const std::string port = variable("MASTER_PORT"); !address.empty() && !port.empty()) {
    // Behind that one torchrun itself may listen.
    const bool taken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
    return MeetingPlace{address, number_of("MASTER_PORT", 1, kMostPort - 1) + (taken ? 1 : 0), {}};
  }
  if (all_on_this_machine(starter)) return MeetingPlace{"127.0.0.1", port_of_job(job), {}};
  if (const std::string nodes = variable("SLURM_STEP_NODELIST"); !nodes.empty()) {
    return MeetingPlace{first_host(nodes), port_of_job(job), {}};
  }
  return std::nullopt;
}

MeetingPlace choose_meeting(const AskedPlace& asked, const Starter* starter) {
  if (asked.rendezvous) return parse_meeting("--rendezvous", *asked.rendezvous);
  if (const std::string told = variable(kRendezvous); !told.empty())
    return parse_meeting(kRendezvous, told);
  std::optional<MeetingPlace> place;
  if (starter != nullptr) place = meeting_of(*starter);
  if (place) return *place;
  throw Error("ranks", "nothing says where they meet",
              "--rendezvous HOST:PORT, of the machine of rank 0");
}

}  // namespace

std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t end = list.find_first_of(",-]", bracket == std::string::npos ? 0 : bracket + 1);
  if (bracket == std::string::npos || list.find(',') < bracket)
    return list.substr(0, list.find(','));
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

std::optional<WorldPlace> world_place(const AskedPlace& asked) {
  const Starter* starter = starter_here();
  if (!asked.rank && !asked.world && starter == nullptr) {
    if (!asked.rendezvous) return std::nullopt;
    throw Error("--rendezvous " + printable(*asked.rendezvous), "says not which rank this is",
                "--rank R --world N, R from 0 on");
  }
  if (asked.rank.has_value() != asked.world.has_value()) {
    throw Error(asked.rank ? "--rank" : "--world",
                asked.rank ? "says not of how many" : "says not which of them this is",
                "--rank R --world N, R from 0 on");
  }
  WorldPlace place;
  place.world = asked.world ? *asked.world : number_of(starter->world, 1, kMostRanks);
  place.rank = asked.rank ? *asked.rank : number_of(starter->rank, 0, kMostRanks);
  if (place.rank >= place.world) {
    throw Error(fmt::format("rank {}", place.rank),
                fmt::format("is not one of {}, which {} 0 to {}", place.world,
                            place.world == 1 ? "is" : "are", place.world - 1),
                "ranks are counted from 0");
  }
  // One process that mpirun or srun started is a run as any other.
  if (place.world == 1) return std::nullopt;
  place.meeting = choose_meeting(asked, starter);
  place.meeting.key = variable(kKey);
  if (place.meeting.key.empty() && starter != nullptr) place.meeting.key = job_of(*starter);
  if (place.meeting.key.empty()) {
    throw Error(kKey, "is not set: the ranks of one run know each other by it",
                "give all of them the same, such as 'openssl rand -hex 16' makes");
  }
  const std::string timeout = variable(kTimeout);
  place.timeout_seconds = asked.timeout_seconds ? *asked.timeout_seconds
                          : timeout.empty()     ? place.timeout_seconds
                                                : number_in(kTimeout, timeout, 1, kMostWaitSeconds);
  return place;
}

void hand_down(const WorldPlace& place) {
  const std::pair<const char*, std::string> variables[] = {
      {kRendezvous, fmt::format("[{}]:{}", place.meeting.host, place.meeting.port)},
      {kRank, std::to_string(place.rank)},
      {kWorld, std::to_string(place.world)},
      {kTimeout, fmt::format("{}", place.timeout_seconds)},
      {kKey, place.meeting.key}};
  for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
}

}  // namespace harness
