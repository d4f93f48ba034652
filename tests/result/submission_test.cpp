#include "harness/result/submission.hpp"

#include <catch2/catch.hpp>

#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

std::string slug(const char* model_name, const json& cores = 2, const char* vendor = nullptr,
                 const char* family = nullptr, const char* model = nullptr) {
  const auto text = [](const char* value) { return value == nullptr ? json() : json(value); };
  return machine_slug({{"cpu",
                        {{"model_name", text(model_name)},
                         {"cores", cores},
                         {"vendor", text(vendor)},
                         {"family", text(family)},
                         {"model", text(model)}}}});
}

}  // namespace

TEST_CASE("a machine is called by its processor and its cores", "[submission]") {
  CHECK(slug("AMD EPYC", 2, "AuthenticAMD", "25", "17") == "amd-epyc-zen4-2-cores");
  CHECK(slug("AMD EPYC", 2, "AuthenticAMD", "25", "1") == "amd-epyc-zen3-2-cores");
  CHECK(slug("AMD EPYC 9654 96-Core Processor", 192, "AuthenticAMD", "25", "17") ==
        "amd-epyc-9654-192-cores");
  CHECK(slug("Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz", 1) ==
        "intel-xeon-platinum-8480-1-core");
  CHECK(slug("Intel(R) Core(TM) i7-8700 CPU", 6) == "intel-core-i7-8700-6-cores");
  CHECK(slug("Intel Xeon Processor (Skylake, IBRS)", 4) == "intel-xeon-skylake-ibrs-4-cores");
  CHECK(slug(nullptr, 4, "ARM") == "arm-4-cores");
}

TEST_CASE("a machine that tells nothing has a name all the same", "[submission]") {
  CHECK(slug(nullptr, nullptr) == "unknown-cpu-unknown-cores");
  CHECK(machine_slug({{"cpu", {{"threads", 8}}}}) == "unknown-cpu-8-threads");
  CHECK(machine_slug(json::object()) == "unknown-cpu-unknown-cores");
  CHECK(machine_slug({{"cpu", "text"}}) == "unknown-cpu-unknown-cores");
  CHECK(slug("\xe4\xb8\xad\xe6\x96\x87", -3) == "unknown-cpu-unknown-cores");
}

TEST_CASE("a file is called by date, commit, workload and run", "[submission]") {
  Result result = sample_result();
  CHECK(submission_path(result) == "made-up-9000-2-cores/2026-01-31-0123456-null-0b5f7c2e.json");
  result.identity.git_commit.clear();
  CHECK(submission_path(result).filename() == "2026-01-31-nocommit-null-0b5f7c2e.json");
}

TEST_CASE("no hostile name leads out of the tree", "[submission]") {
  const std::string names[] = {"..",
                               "../../etc/passwd",
                               "/etc/passwd",
                               "a/../../b",
                               "..\\..\\b",
                               ".hidden",
                               "a\nb",
                               "a\x1b[2Jb",
                               std::string("a\0b", 3),
                               "~/x",
                               "$(reboot)",
                               "<script>alert(1)</script>",
                               std::string(5000, 'x'),
                               "\xff\xfe",
                               "",
                               " ",
                               "-rf",
                               "con"};
  for (const std::string& name : names) {
    Result result = sample_result();
    result.system = {{"cpu", {{"model_name", name}, {"vendor", name}, {"cores", 2}}}};
    result.rules.workload = name;
    result.identity.uuid = name;
    result.identity.started_at = name;
    result.identity.git_commit = name;
    const std::filesystem::path path = submission_path(result);
    CAPTURE(name, path);
    CHECK(path.is_relative());
    std::vector<std::string> steps;
    for (const auto& step : path) steps.push_back(step.string());
    REQUIRE(steps.size() == 2);
    for (const std::string& step : steps) {
      CHECK(step.size() < 200);
      CHECK(step.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "._+-") == std::string::npos);
      CHECK(step.front() != '.');
    }
    CHECK(steps[0].front() != '-');
    CHECK(steps[1].ends_with(".json"));
  }
}
