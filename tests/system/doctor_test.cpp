#include "harness/system/doctor.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "harness/system/capture.hpp"
#include "harness/system/doctor_changes.hpp"
#include "harness/system/environment.hpp"
#include "tests/support/fake_machine.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

/// A machine about which there is nothing to say.
json quiet_system() {
  return json::parse(R"({
    "build": {"type": "Release", "assertions": false, "sanitizers": "", "malloc": "libc.so.6",
              "glibc_tunables": null},
    "cpu": {"governor": "performance", "turbo": false, "smt_active": false, "threads": 8,
            "frequency_driver": "acpi-cpufreq", "isa": {"avx2": true, "avx512f": true}},
    "limits": {"usable_cpus": 8, "usable_cores": 8, "affinity": "0-7", "affinity_count": 8,
               "cgroup_cpu_quota": null},
    "memory": {"total_bytes": 34359738368, "transparent_huge_pages": "madvise"},
    "numa_nodes": [{"id": 0}],
    "os": {"virtualisation": "none"},
    "missing": {}})");
}

json quiet_environment() {
  return json::parse(R"({
    "load_average": [0.1, 0.1, 0.1], "runnable_tasks": 1, "cpus_counted": 8,
    "memory_available_bytes": 30000000000, "swap_used_bytes": 0, "swapped_pages": 10,
    "cpu_busy_seconds": 1000, "cpu_steal_seconds": 5, "own_cpu_seconds": 1,
    "monotonic_seconds": 50, "cgroup_nr_throttled": 0, "cgroup_throttled_seconds": 0,
    "thermal_throttle_count": 0, "missing": {}})");
}

const Finding* find(const std::vector<Finding>& findings, const std::string& id) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.id == id; });
  return found == findings.end() ? nullptr : &*found;
}

/// One thing about the machine, what the doctor must make of it.
struct Case {
  const char* pointer;  ///< into {"system": ..., "environment": ...}
  json value;
  const char* id;
  Severity severity;
  bool mistrust;
};

}  // namespace

TEST_CASE("a quiet machine is in order", "[doctor]") {
  for (const Finding& finding : diagnose(quiet_system(), quiet_environment())) {
    INFO(finding.id << ": " << finding.what);
    CHECK(finding.severity == Severity::kOk);
    CHECK_FALSE(finding.mistrust);
    CHECK_FALSE(finding.what.empty());
  }
}

TEST_CASE("each trouble is found, by itself, with what to do", "[doctor]") {
  const Severity note = Severity::kNote;
  const Severity warning = Severity::kWarning;
  const std::vector<Case> cases = {
      {"/system/cpu/governor", "powersave", "governor", warning, false},
      {"/system/cpu/governor", nullptr, "governor", note, false},
      {"/system/cpu/turbo", true, "turbo", note, false},
      {"/system/cpu/turbo", nullptr, "turbo", note, false},
      {"/system/cpu/smt_active", nullptr, "smt", note, false},
      {"/system/cpu/threads", 64, "affinity", note, false},
      {"/system/limits/cgroup_cpu_quota", 1.5, "cpu-quota", warning, false},
      {"/system/limits/cgroup_cpu_quota", 4, "cpu-quota", note, false},
      {"/system/numa_nodes", json::array({1, 2}), "numa", note, false},
      {"/system/memory/transparent_huge_pages", "never", "huge-pages", warning, false},
      {"/system/memory/total_bytes", 1e12, "memory", warning, false},
      {"/environment/memory_available_bytes", 1e9, "memory", warning, false},
      {"/environment/memory_available_bytes", nullptr, "memory", note, false},
      {"/environment/swap_used_bytes", 1e9, "swap", note, false},
      {"/environment/load_average", json::array({4.0, 1.0, 1.0}), "load", note, false},
      {"/environment/load_average", nullptr, "load", note, false},
      {"/environment/cgroup_nr_throttled", 3, "throttling", note, false},
      {"/environment/thermal_throttle_count", 3, "thermal", note, false},
      {"/system/os/virtualisation", "KVMKVMKVM", "virtual-machine", note, false},
      {"/system/build/malloc", "libjemalloc.so.2", "malloc", note, false},
      {"/system/build/glibc_tunables", "glibc.malloc.hugetlb=1", "glibc-tunables", note, false},
      {"/system/build/type", "Debug", "build", warning, true},
      {"/system/build/assertions", true, "build", note, false},
      {"/system/build/sanitizers", "address", "sanitizers", warning, true},
  };
  for (const Case& trouble : cases) {
    json facts = {{"system", quiet_system()}, {"environment", quiet_environment()}};
    facts[json::json_pointer(trouble.pointer)] = trouble.value;
    const auto findings = diagnose(facts["system"], facts["environment"]);
    INFO(trouble.pointer << " = " << trouble.value);
    const Finding* finding = find(findings, trouble.id);
    REQUIRE(finding != nullptr);
    CHECK(finding->severity == trouble.severity);
    CHECK(finding->mistrust == trouble.mistrust);
    CHECK_FALSE(finding->why.empty());
    if (trouble.severity == warning) CHECK_FALSE(finding->how.empty());
    const auto others = std::count_if(findings.begin(), findings.end(), [](const Finding& other) {
      return other.severity != Severity::kOk;
    });
    CHECK(others == 1);
  }
}

TEST_CASE("SMT siblings matter only where they are used", "[doctor]") {
  json system = quiet_system();
  system["cpu"]["smt_active"] = true;
  CHECK(find(diagnose(system, quiet_environment()), "smt")->severity == Severity::kOk);
  system["limits"]["usable_cores"] = 4;
  const auto findings = diagnose(system, quiet_environment());
  CHECK(find(findings, "smt")->severity == Severity::kNote);
  CHECK_THAT(find(findings, "smt")->how, Catch::Contains("--threads 4"));
}

TEST_CASE("load makes mistrusted only while others are running", "[doctor]") {
  json state = quiet_environment();
  state["load_average"][0] = 7.5;  // may be ours, of the run before
  CHECK_FALSE(find(diagnose(quiet_system(), state), "load")->mistrust);
  state["runnable_tasks"] = 6;
  CHECK(find(diagnose(quiet_system(), state), "load")->mistrust);
  CHECK_THAT(find(diagnose(quiet_system(), state), "load")->how, Catch::Contains("stop them"));
  state["load_average"][0] = 0.2;  // a moment's wake-up
  CHECK(find(diagnose(quiet_system(), state), "load")->severity == Severity::kOk);
}

TEST_CASE("nobody is asked to stop what has ended", "[doctor]") {
  json state = quiet_environment();
  state["load_average"][0] = 7.5;
  const std::vector<Finding> ended = diagnose(quiet_system(), state);
  CHECK(find(ended, "load")->severity == Severity::kNote);
  CHECK_THAT(render_findings(ended),
             Catch::Contains("the average lags") && !Catch::Contains("stop them"));
  // One that still runs may be what made it, and so may those that nobody could count.
  for (const json& runnable : {json(2), json()}) {
    CAPTURE(runnable);
    state["runnable_tasks"] = runnable;
    const std::vector<Finding> findings = diagnose(quiet_system(), state);
    CHECK(find(findings, "load")->severity == Severity::kWarning);
    CHECK_THAT(find(findings, "load")->how, Catch::Contains("stop them"));
    CHECK_FALSE(find(findings, "load")->mistrust);
  }
}

TEST_CASE("the reason of what could not be read is told", "[doctor]") {
  json system = quiet_system();
  system["cpu"]["governor"] = nullptr;
  system["missing"]["cpu.governor"] = "no cpufreq driver is visible";
  CHECK_THAT(find(diagnose(system, quiet_environment()), "governor")->what,
             Catch::Contains("no cpufreq driver"));
}

TEST_CASE("what happened during the run is found", "[doctor]") {
  const json before = quiet_environment();
  json after = before;
  after["monotonic_seconds"] = 150;  // 100 s on 8 CPUs: 800 CPU seconds
  after["cpu_busy_seconds"] = 1710;
  after["own_cpu_seconds"] = 701;
  CHECK(compare_environments(before, after).empty());

  const auto check = [&](const json& changed, const char* id, bool mistrust) {
    const auto findings = compare_environments(before, changed);
    INFO(changed.dump());
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].id == id);
    CHECK(findings[0].severity == Severity::kWarning);
    CHECK(findings[0].mistrust == mistrust);
    CHECK_FALSE(findings[0].how.empty());
  };
  const auto changed = [&](const char* field, double value) {
    json state = after;
    state[field] = value;
    return state;
  };
  check(changed("own_cpu_seconds", 651), "other-processes", false);  // 60 of 800
  check(changed("own_cpu_seconds", 101), "other-processes", true);
  check(changed("cpu_steal_seconds", 15), "steal", false);
  check(changed("cpu_steal_seconds", 55), "steal", true);
  check(changed("cgroup_nr_throttled", 1), "throttling", true);
  check(changed("thermal_throttle_count", 1), "thermal", true);
  check(changed("swapped_pages", 1000), "swap", true);
  CHECK(compare_environments(before, changed("swapped_pages", 20)).empty());
}

TEST_CASE("nothing is concluded from what cannot be compared", "[doctor]") {
  const json before = quiet_environment();
  json after = before;
  after["monotonic_seconds"] = 50.5;  // too short for ticks of 10 ms
  after["cpu_busy_seconds"] = 1004;
  CHECK(compare_environments(before, after).empty());
  after["monotonic_seconds"] = 60;
  after["cpu_busy_seconds"] = 1070;
  CHECK(compare_environments(before, after).size() == 1);
  after["cpus_counted"] = 4;  // bound to fewer CPUs meanwhile
  CHECK(compare_environments(before, after).empty());
  after = before;
  after["thermal_throttle_count"] = -1;  // a counter that ran backwards
  CHECK(compare_environments(before, after).empty());
}

TEST_CASE("facts of any shape are judged without harm", "[doctor]") {
  const std::vector<json> shapes = {nullptr,
                                    1,
                                    "text",
                                    json::array(),
                                    json::object(),
                                    {{"cpu", 7}, {"load_average", "x"}, {"missing", 3}},
                                    {{"load_average", json::array()}, {"limits", nullptr}},
                                    {{"cpu", {{"governor", "a\x1b[31m"}}}}};
  for (const json& system : shapes) {
    for (const json& environment : shapes) {
      const auto findings = diagnose(system, environment);
      CHECK_FALSE(findings.empty());
      CHECK(render_findings(findings).find('\x1b') == std::string::npos);
      CHECK(compare_environments(system, environment).empty());
    }
  }
}

TEST_CASE("whether a narrow precision is worth asking for is told by the peaks", "[doctor]") {
  const auto peak = [](const char* tag, double value) {
    return Peak{tag, "FLOP/s", "AVX", 2, {value}, Interval{value, {}, {}}, "", value};
  };
  const Finding faster = judge_narrow({peak("fma.fp32", 2e11), peak("fma.bf16", 4e11)}, "bf16");
  CHECK(faster.severity == Severity::kOk);
  CHECK_THAT(faster.what, Catch::Contains("2.0 times as fast"));
  const Finding slower = judge_narrow({peak("fma.fp32", 2e11), peak("fma.bf16", 1e11)}, "bf16");
  CHECK(slower.severity == Severity::kNote);
  CHECK_THAT(slower.what, Catch::Contains("slower than fp32"));
  CHECK_FALSE(slower.how.empty());
  Peak none = peak("fma.bf16", 1);
  none.value.reset();
  none.reason = "no such instruction";
  const Finding unknown = judge_narrow({peak("fma.fp32", 2e11), none}, "bf16");
  CHECK_THAT(unknown.what, Catch::Contains("no such instruction"));
  CHECK(unknown.how.empty());

  const Finding int8 = judge_narrow(
      {peak("fma.fp32", 2e11), peak("fma.bf16", 9e11), peak("fma.int8", 1e11)}, "int8");
  CHECK(int8.id == "int8");
  CHECK(int8.severity == Severity::kNote);
}

TEST_CASE("findings as text and as JSON", "[doctor]") {
  json system = quiet_system();
  system["cpu"]["governor"] = "powersave";
  system["build"]["type"] = "Debug";
  const auto findings = diagnose(system, quiet_environment());
  const std::string text = render_findings(findings);
  CHECK(text.starts_with("warning  build"));
  CHECK_THAT(text, Catch::Contains("sudo tee") && Catch::Contains("mistrusted") &&
                       Catch::EndsWith("2 warnings.\n"));
  const json list = to_json(findings);
  REQUIRE(list.size() == findings.size());
  CHECK(list[0]["id"] == "build");
  CHECK(list[0]["severity"] == "warning");
  CHECK(list[0]["mistrust"] == true);
  CHECK_THAT(render_findings(diagnose(quiet_system(), quiet_environment())),
             Catch::EndsWith("No warnings.\n"));
}

TEST_CASE("a captured machine can be judged", "[doctor]") {
  FakeMachine machine;
  FakeMachine::fill_small_server(machine);
  const auto findings =
      diagnose(capture_system(machine.root()), capture_environment(machine.root()));
  CHECK(find(findings, "governor")->severity == Severity::kWarning);
  CHECK(find(findings, "turbo")->severity == Severity::kNote);
  CHECK_THAT(find(findings, "turbo")->how, Catch::Contains("intel_pstate"));
  CHECK(find(findings, "cpu-quota")->severity == Severity::kWarning);
  CHECK(find(findings, "throttling") != nullptr);
  CHECK(find(findings, "thermal") != nullptr);
  CHECK(find(findings, "swap") != nullptr);
}

TEST_CASE("what weighs on both sides of a ratio spares it", "[doctor]") {
  CHECK(what_is_left(diagnose(quiet_system(), quiet_environment())).empty());
  json busy = quiet_environment();
  busy["load_average"][0] = 7.5;
  busy["runnable_tasks"] = 6;
  const std::vector<Finding> loaded = diagnose(quiet_system(), busy);
  CHECK_THAT(what_is_left(loaded),
             Catch::StartsWith("seconds cannot be used; ratios can") && Catch::Contains("ablate"));

  const json before = quiet_environment();
  json after = before;
  after["monotonic_seconds"] = 150;
  after["cpu_steal_seconds"] = 105;
  CHECK_THAT(what_is_left(compare_environments(before, after)), Catch::Contains("ratios can"));
  for (const char* field : {"cgroup_nr_throttled", "thermal_throttle_count", "swapped_pages"}) {
    INFO(field);
    json changed = before;
    changed[field] = 10000;
    std::vector<Finding> findings = compare_environments(before, changed);
    CHECK_THAT(what_is_left(findings), Catch::StartsWith("neither seconds nor ratios"));
    // The worst decides.
    findings.insert(findings.end(), loaded.begin(), loaded.end());
    CHECK_THAT(what_is_left(findings), Catch::StartsWith("neither seconds nor ratios"));
  }
  json debug = quiet_system();
  debug["build"]["type"] = "Debug";
  CHECK_THAT(what_is_left(diagnose(debug, quiet_environment())), Catch::StartsWith("neither"));
}

TEST_CASE("one of a thing is told in the singular", "[doctor]") {
  json system = quiet_system();
  system["cpu"]["threads"] = 1;
  system["limits"]["affinity_count"] = 1;
  json state = quiet_environment();
  state["cpus_counted"] = 1;
  state["runnable_tasks"] = 2;
  state["cgroup_nr_throttled"] = 1;
  state["thermal_throttle_count"] = 1;
  const auto findings = diagnose(system, state);
  CHECK_THAT(find(findings, "load")->what, Catch::EndsWith("on 1 CPU, 1 other task runnable now"));
  CHECK(find(findings, "affinity")->what == "the only CPU may be used");
  CHECK(find(findings, "throttling")->what == "the CPU quota ran out 1 time so far");
  CHECK(find(findings, "thermal")->what == "1 thermal throttling since boot");
}
