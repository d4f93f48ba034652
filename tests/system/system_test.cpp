#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/cgroup.hpp"
#include "harness/system/dmi.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/memory_limit.hpp"
#include "harness/system/page_cache.hpp"
#include "harness/system/topology.hpp"
#include "tests/support/fake_machine.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

/// Every null has its reason, and every reason belongs to a null.
void check_missing(const json& facts, const json& missing, const std::string& prefix = "") {
  for (const auto& [key, value] : facts.items()) {
    if (prefix.empty() && key == "missing") continue;
    const std::string field = prefix + key;
    if (value.is_object()) {
      check_missing(value, missing, field + ".");
    } else {
      INFO(field);
      CHECK(value.is_null() == missing.contains(field));
    }
  }
}

}  // namespace

TEST_CASE("a machine is captured field by field", "[system]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const json system = capture_system(machine.root());
  CHECK(system["cpu"]["vendor"] == "GenuineIntel");
  CHECK(system["cpu"]["model_name"] == "Example CPU @ 2.00GHz");
  CHECK(system["cpu"]["microcode"] == "0x5003605");
  CHECK(system["cpu"]["isa"]["avx2"] == true);
  CHECK(system["cpu"]["isa"]["avx512f"] == false);
  CHECK(system["cpu"]["threads"] == 4);
  CHECK(system["cpu"]["cores"] == 2);
  CHECK(system["cpu"]["sockets"] == 1);
  CHECK(system["cpu"]["smt_active"] == true);
  CHECK(system["cpu"]["turbo"] == true);
  CHECK(system["cpu"]["governor"] == "powersave");
  CHECK(system["cpu"]["max_hertz"] == 3.5e9);
  CHECK(system["caches"] == json::parse(R"([
      {"level":1,"type":"Data","bytes":32768,"line_bytes":64,"instances":2},
      {"level":3,"type":"Unified","bytes":8388608,"line_bytes":0,"instances":1}])"));
  CHECK(system["numa_nodes"] == json::parse(R"([{"id":0,"cpus":"0-3","bytes":17179869184}])"));
  CHECK(system["memory"]["total_bytes"] == 17179869184);
  CHECK(system["memory"]["huge_pages"] == 4);
  CHECK(system["memory"]["transparent_huge_pages"] == "madvise");
  CHECK(system["limits"]["cgroup_version"] == 2);
  CHECK(system["limits"]["cgroup_cpu_quota"] == 1.5);
  CHECK(system["limits"]["cgroup_memory_bytes"] == 8589934592);
  CHECK(system["limits"]["usable_cpus"] == 1);
  CHECK(system["os"]["name"] == "Example Linux 12");
  CHECK(system["os"]["container"] == "none");
  CHECK(system["os"]["virtualisation"] == "unnamed hypervisor");
  CHECK(system["os"]["mitigations"]["vulnerable"] == json::array({"l1tf"}));
  check_missing(system, system["missing"]);
}

TEST_CASE("the environment is captured field by field", "[system]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const json state = capture_environment(machine.root());
  CHECK(state["load_average"] == json::array({0.5, 0.25, 0.1}));
  CHECK(state["runnable_tasks"] == 2);
  CHECK(state["processes"] == 1);
  CHECK(state["memory_available_bytes"] == 12884901888);
  CHECK(state["swap_used_bytes"] == 1048576);
  CHECK(state["swapped_pages"] == 12);
  CHECK(state["uptime_seconds"] == 1000.5);
  CHECK(state["frequency_hertz"]["median"] == 2.2e9);
  CHECK(state["temperature_celsius"] == 54.5);
  CHECK(state["thermal_throttle_count"] == 12);
  CHECK(state["cgroup_nr_throttled"] == 12);
  CHECK(state["cgroup_throttled_seconds"] == Approx(2.5));
  CHECK(state["own_cpu_seconds"].get<double>() >= 0);
  check_missing(state, state["missing"]);
}

TEST_CASE("a task that is runnable for an instant is no load", "[system]") {
  using Readings = std::vector<std::optional<long long>>;
  const auto usual = [](const Readings& readings) {
    std::size_t next = 0;
    const auto runnable = usually_runnable([&] { return readings.at(next++); });
    return std::pair(runnable, next);
  };
  CHECK(usual({1}) == std::pair(std::optional(1LL), std::size_t{1}));
  CHECK(usual({2, 1, 1, 1, 1}).first == 1);
  CHECK(usual({2, 1, 3, 2, 1}).first == 2);
  CHECK(usual({3, 3, 3, 3, 3}).first == 3);
  CHECK_FALSE(usual({std::nullopt}).first);
  CHECK_FALSE(usual({2, std::nullopt}).first);
}

TEST_CASE("the fingerprint follows the hardware and nothing else", "[system]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const auto fingerprint = [&] { return capture_system(machine.root())["fingerprint"]; };
  const json first = fingerprint();
  CHECK(first.get<std::string>().size() == 64);
  machine.file("/proc/loadavg", "9 9 9 9/9 9\n");
  machine.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  machine.file("/proc/meminfo", "MemTotal: 16777000 kB\n");
  CHECK(fingerprint() == first);
  machine.file("/proc/meminfo", "MemTotal: 33554432 kB\n");
  CHECK(fingerprint() != first);
}

TEST_CASE("an empty root gives nulls with reasons", "[system]") {
  const FakeMachine machine;
  for (const json& facts : {capture_system(machine.root()), capture_environment(machine.root())}) {
    check_missing(facts, facts["missing"]);
    CHECK(facts.dump().find(machine.path().string()) == std::string::npos);
  }
  const json system = capture_system(machine.root());
  CHECK(system["cpu"]["model_name"].is_null());
  CHECK_THAT(system["missing"]["cpu.model_name"].get<std::string>(),
             Catch::Contains("/proc/cpuinfo"));
}

TEST_CASE("garbage in every file neither crashes nor breaks the JSON", "[system]") {
  std::mt19937 random(7);
  std::vector<std::string> paths;
  {
    FakeMachine whole;
    FakeMachine::fill_small_server(whole);
    for (const auto& entry : fs::recursive_directory_iterator(whole.path())) {
      if (entry.is_regular_file()) paths.push_back(fs::relative(entry.path(), whole.path()));
    }
  }
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const auto survives = [&] {
    for (const json& facts :
         {capture_system(machine.root()), capture_environment(machine.root())}) {
      CHECK_NOTHROW(json::parse(facts.dump()));  // dump() throws for bytes that are not UTF-8
      check_missing(facts, facts["missing"]);
    }
    CHECK_NOTHROW(available_memory(machine.root()));
  };
  for (const std::string& path : paths) {
    std::string noise(random() % 300, '\0');
    for (char& c : noise) c = static_cast<char>(random() % 256);
    machine.file(path, noise);
  }
  survives();
  for (const char* text : {"-1", "99999999999999999999", "0-99999999", "nan nan nan",
                           "9223372036854775807 kB", "max max", "1 0", "-5 100000", "../../..", "[",
                           "][", "cpu0 -1 x\ncpu0", "0::/../../x", "0-3,", ",", "K", "\n\n\n"}) {
    for (const std::string& path : paths) machine.file(path, text);
    INFO(text);
    survives();
  }
}

TEST_CASE("a truncated machine is captured as far as it goes", "[system]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  machine.file("/proc/meminfo", "MemTotal:       167");
  machine.file("/proc/stat", "cpu0 1 2 3");
  machine.file("/proc/loadavg", "0.50 0.2");
  const json system = capture_system(machine.root());
  CHECK(system["memory"]["total_bytes"] == 167);
  CHECK(system["cpu"]["vendor"] == "GenuineIntel");
  const json state = capture_environment(machine.root());
  CHECK(state["cpu_busy_seconds"].is_null());
  CHECK(state["load_average"].is_null());
  CHECK(state["missing"].contains("load_average"));
}

TEST_CASE("this machine is captured, quickly and without names", "[system]") {
  const json system = capture_system();
  check_missing(system, system["missing"]);
  CHECK(system["limits"]["usable_cpus"].get<int>() >= 1);
  CHECK(system["build"]["libc"].get<std::string>().starts_with("glibc"));
  CHECK(system["build"]["sha256"] == sha256_of_file("/proc/self/exe"));
  char host[256] = {};
  REQUIRE(::gethostname(host, sizeof host - 1) == 0);
  const std::string quoted = "\"" + std::string(host) + "\"";
  const json state = capture_environment();
  check_missing(state, state["missing"]);
  CHECK(system.dump().find(quoted) == std::string::npos);
  CHECK(state["memory_available_bytes"].get<double>() > 0);
  CHECK(state["monotonic_seconds"].get<double>() > 0);
}

TEST_CASE("control groups: the tightest ancestor binds, page cache gives way", "[system]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  CgroupState state = read_cgroup(machine.root());
  CHECK(state.cpu_quota == 1.5);
  CHECK(state.memory_limit == 8589934592);
  CHECK(state.memory_left == 8589934592 - 6442450944 + 1073741824);
  CHECK(state.nr_throttled == 12);
  machine.file("/sys/fs/cgroup/runner/cpu.max", "50000 100000\n");
  CHECK(read_cgroup(machine.root()).cpu_quota == 0.5);
  // A group that lies outside of the namespace: only the mount's own files are looked at.
  machine.file("/proc/self/cgroup", "0::/../../elsewhere\n");
  state = read_cgroup(machine.root());
  CHECK_FALSE(state.cpu_quota);
  CHECK(state.cpu_reason == "no quota is set");
}

TEST_CASE("control groups, version 1", "[system]") {
  FakeMachine machine;
  machine.file("/proc/self/cgroup", "4:memory:/a\n2:cpu,cpuacct:/a/b\n0::/\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "250000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.stat",
            "nr_throttled 3\nthrottled_time 4000000000\n")
      .file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n")
      .file("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "536870912\n")
      .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupState state = read_cgroup(machine.root());
  CHECK(state.version == 1);
  CHECK(state.cpu_quota == 2.5);
  CHECK(state.throttled_seconds == Approx(4.0));
  CHECK(state.memory_limit == 1073741824);
  CHECK(state.memory_left == 536870912);
}

TEST_CASE("available memory is the smaller of machine and control group", "[system]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  CHECK(available_memory(machine.root()).source == "cgroup limit");
  CHECK(available_memory(machine.root()).bytes == 8589934592 - 6442450944 + 1073741824);
  machine.remove("/sys/fs/cgroup");
  CHECK(available_memory(machine.root()).bytes == 12884901888);
  CHECK(available_memory(machine.root()).source == "MemAvailable");
  machine.remove("/proc/meminfo");
  CHECK_FALSE(available_memory(machine.root()).bytes);
  CHECK_FALSE(available_memory(machine.root()).reason.empty());
  CHECK(available_memory().bytes.value_or(0) > 0);
}

TEST_CASE("memory speed comes from the firmware's tables, if they are sound", "[system]") {
  const auto module = [](int speed, int configured, int size) {
    std::string bytes(0x22, '\0');
    bytes[0] = 17;
    bytes[1] = 0x22;
    bytes[0x0c] = static_cast<char>(size);
    bytes[0x15] = static_cast<char>(speed & 255);
    bytes[0x16] = static_cast<char>(speed >> 8);
    bytes[0x20] = static_cast<char>(configured & 255);
    bytes[0x21] = static_cast<char>(configured >> 8);
    return bytes + std::string("DIMM 0\0\0", 8);
  };
  const char* const path = "/sys/firmware/dmi/tables/DMI";
  FakeMachine machine;
  machine.file(path, module(4800, 4400, 1) + module(3200, 1600, 0) + module(4800, 0, 1));
  CHECK(read_memory_speed(machine.root()).transfers_per_second == 4.4e9);
  machine.file(path, module(4800, 4400, 1).substr(0, 0x18));
  CHECK_FALSE(read_memory_speed(machine.root()).transfers_per_second);
  machine.file(path, std::string(5000, '\x11'));
  CHECK_NOTHROW(read_memory_speed(machine.root()));
  machine.file(path, std::string("\x11\x00\x00\x00", 4));
  CHECK_FALSE(read_memory_speed(machine.root()).transfers_per_second);
}

TEST_CASE("sizes and CPU lists as the kernel writes them", "[system]") {
  CHECK(kernel_size("32K") == 32768);
  CHECK(kernel_size(" 16 kB ") == 16384);
  CHECK(kernel_size("2M") == 2097152);
  CHECK(kernel_size("7") == 7);
  for (const char* bad : {"", "K", "-1K", "1e3", "9223372036854775807K", "x"}) {
    CHECK_FALSE(kernel_size(bad));
  }
  CHECK(kernel_cpu_list("0-2,5\n") == std::vector<int>{0, 1, 2, 5});
  for (const char* bad : {"", "3-1", "0-99999999", "a", "1,,2", "-1"}) {
    CHECK_FALSE(kernel_cpu_list(bad));
  }
}

TEST_CASE("clearing the page cache tells what it reached", "[system]") {
  const FakeMachine machine;  // no drop_caches: the files alone, not the whole machine's cache
  const TemporaryFolder folder;
  const std::string content(100'000, 'x');
  write_file_atomically(folder / "a", content);
  fs::create_directory(folder / "below");
  write_file_atomically(folder / "below" / "b", content);
  const TemporaryFolder elsewhere;
  write_file_atomically(elsewhere / "c", content);
  fs::create_symlink(elsewhere / "c", folder / "link");
  fs::create_directory_symlink(elsewhere.path(), folder / "linked");

  const PageCacheRecord record = clear_page_cache(folder.path(), machine.root());
  CHECK(record.files == 2);
  CHECK(record.bytes == 200'000);
  CHECK(record.method == "posix_fadvise");
  // Whether pages go depends on the file system (tmpfs keeps them): the record has to agree with
  // it.
  CHECK(record.complete == (record.resident_bytes == 0));
  CHECK(record.reason.empty() == record.complete);
  CHECK(to_json(record)["files"] == 2);

  const TemporaryFolder empty;
  CHECK_FALSE(clear_page_cache(empty.path(), machine.root()).complete);
  const PageCacheRecord missing = clear_page_cache(folder / "no-such", machine.root());
  CHECK_FALSE(missing.complete);
  CHECK_THAT(missing.reason, Catch::Contains("cannot list"));
}
