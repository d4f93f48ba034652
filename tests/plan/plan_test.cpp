#include <catch2/catch.hpp>

#include "harness/base/files.hpp"
#include "harness/plan/division.hpp"
#include "harness/plan/plan.hpp"
#include "harness/plan/settings.hpp"
#include "harness/result/setting.hpp"
#include "harness/workload/rules_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

RunRequest null_request() {
  RunRequest request;
  request["workload"] = "null";
  return request;
}

ErrorParts refusal(const RunRequest& request) {
  return refusal_of([&] { make_plan(request, home_folder()); });
}

}  // namespace

TEST_CASE("without options the rules decide", "[plan]") {
  const RunPlan plan = make_plan(null_request(), home_folder());
  CHECK(plan.tier_name == "quick");
  CHECK(plan.context.precision == "fp32");
  CHECK(plan.context.kernels == KernelSet{{"nothing", "reference"}});
  CHECK(plan.context.seeds.run == 1);
  CHECK(plan.tier.warmup_steps == 2);
  CHECK(plan.departures.empty());
  CHECK(plan.requested == nlohmann::json{{"workload", "null"}});
  CHECK(plan.effective["threads"].get<int>() >= 1);
}

TEST_CASE("each bad option is refused by name with the nearest names", "[plan]") {
  struct Case {
    const char* setting;
    nlohmann::json value;
    const char* about;
    const char* offers = "";  // of the choices
  };
  const std::vector<Case> cases = {
      {"workload", "nul", "workload 'nul'", "null"},
      {"tier", "quik", "tier 'quik'", "quick"},
      {"precision", "fp23", "--precision 'fp23'", "fp32"},
      {"allocator", "sistem", "--allocator 'sistem'", "system"},
      {"division", "close", "--division 'close'", "closed"},
      {"kernels", "costum", "--kernels 'costum'", "custom"},
      {"kernels", "nothin=custom", "--kernels 'nothin'", "nothing"},
      {"kernels", "nothing=fast", "--kernels nothing 'fast'", "custom"},
      {"kernels", "nothing=", "--kernels nothing ''"},
      {"batch_size", 0, "--batch-size 0"},
      {"batch_size", -1, "--batch-size -1"},
      {"threads", 0, "--threads 0"},
      {"threads", 100000, "--threads 100000"},
      {"seed", -1, "--seed -1"},
      {"seed", 4294967296, "--seed 4294967296"},
      {"runs", 0, "--runs 0"},
      {"data", "/tmp", "--data"},
      {"cpus", "a-b", "--cpus a-b"},
      {"set", {"stepms=1"}, "--set stepms=1", "step-ms"},
      {"set", {"step-ms"}, "--set step-ms", "step-ms=VALUE"},
      {"set", {"fail-prepare=maybe"}, "--set fail-prepare 'maybe'", "yes"}};
  for (const Case& one : cases) {
    RunRequest request = null_request();
    request[one.setting] = one.value;
    CHECK_THAT(refusal(request), is_about(one.about, {one.offers}));
  }
}

TEST_CASE("a value of another kind than its setting's is refused, choices or not", "[plan]") {
  constexpr const char* kName = "waiting_rooms";
  if (SettingTable::instance().find(kName) == nullptr) {
    SettingTable::instance().add({.name = kName,
                                  .kind = SettingKind::kInteger,
                                  .scope = SettingScope::kNone,
                                  .part = SetUpPart::kExempt,
                                  .high = 9});
  }
  RunRequest request = null_request();
  request[kName] = "many";
  CHECK(refusal(request).about == "--waiting-rooms \"many\"");
  request[kName] = 10;
  CHECK_THAT(refusal(request), is_about("--waiting-rooms 10", {"0 to 9"}));
  request[kName] = 3;
  CHECK(make_plan(request, home_folder()).effective[kName] == 3);
  request["device"] = 3;
  CHECK(refusal(request).about == "--device 3");
}

TEST_CASE("what differs from the rules is a departure, and closed refuses it", "[plan]") {
  RunRequest request = null_request();
  request["batch_size"] = 4;
  request["precision"] = "bf16";
  request["quality_target"] = 0.9;
  const RunPlan plan = make_plan(request, home_folder());
  REQUIRE(plan.departures.size() == 3);
  CHECK(plan.departures[0].path == "/settings/effective/batch_size");
  CHECK(plan.departures[0].expected == "1");
  CHECK(plan.departures[0].actual == "4");
  CHECK(plan.departures[2].path == "/settings/effective/precision");
  request["division"] = "closed";
  CHECK_THAT(refusal(request), is_about("--division closed", {"rules/null.json"}));
  // The others may follow from it.
  request["scenario"] = "offline";
  CHECK_THAT(refusal(request), is_about("--division closed", {"scenario 'offline'"}));
}

TEST_CASE("a run is asked for the quality of its scenario", "[plan]") {
  const TemporaryFolder folder;
  nlohmann::json rules =
      nlohmann::json::parse(read_file(home_folder() / "rules/null.json", 1 << 20));
  nlohmann::json& offline = rules["tiers"]["quick"]["scenarios"]["offline"];
  offline["quality"] = {{"metric", "scripted-quality"}, {"direction", "higher"}, {"target", 0.9}};
  write_file_atomically(folder / "rules.json", rules.dump());
  RunRequest request;
  request["rules"] = (folder / "rules.json").string();
  CHECK(make_plan(request, home_folder()).quality_target == 0.5);
  request["scenario"] = "offline";
  const RunPlan plan = make_plan(request, home_folder());
  CHECK(plan.quality_target == 0.9);
  for (const Departure& departure : plan.departures) {
    CHECK(departure.path != "/settings/effective/quality_target");
  }
}

TEST_CASE("kernels are chosen as a set or one by one", "[plan]") {
  const std::vector<OperatorInfo> operators = {
      {"a", "", {{"reference", ""}, {"custom", ""}}},
      {"b", "", {{"reference", ""}}},
  };
  CHECK(parse_kernels("reference", operators) == KernelSet{{"a", "reference"}, {"b", "reference"}});
  CHECK(parse_kernels("custom", operators) == KernelSet{{"a", "custom"}, {"b", "reference"}});
  CHECK(parse_kernels("a=custom,b=reference", operators) ==
        KernelSet{{"a", "custom"}, {"b", "reference"}});
  CHECK_THROWS_AS(parse_kernels("b=custom", operators), Error);
  CHECK_THROWS_AS(parse_kernels("custom", {{"b", "", {{"reference", ""}}}}), Error);
}

TEST_CASE("an implementation that cannot run here is left out of a set, and refused by name",
          "[plan]") {
  const OperatorInfo here = {"a", "", {{"reference", ""}, {"custom", ""}}};
  const OperatorInfo elsewhere = {"b", "", {{"reference", ""}, {"custom", "", "needs AVX-512"}}};
  CHECK(parse_kernels("custom", {here, elsewhere}) ==
        KernelSet{{"a", "custom"}, {"b", "reference"}});
  const auto says = [](const char* text, const std::vector<OperatorInfo>& operators) {
    return refusal_of([&] { parse_kernels(text, operators); });
  };
  CHECK_THAT(says("b=custom", {here, elsewhere}),
             is_about("--kernels b=custom", {"needs AVX-512"}));
  CHECK(says("custom", {elsewhere}).names("needs AVX-512"));
  CHECK(parse_kernels("reference", {elsewhere}) == KernelSet{{"b", "reference"}});
}

TEST_CASE("seeds differ by use and by run, and repeat", "[plan]") {
  const Seeds seeds = derive_seeds(1);
  CHECK(seeds.run == 1);
  CHECK(seeds.weights != seeds.data_order);
  CHECK(seeds.data_order != seeds.augmentation);
  CHECK(derive_seeds(1).weights == seeds.weights);
  CHECK(derive_seeds(2).weights != seeds.weights);
  CHECK(series_seed(7, 1) == 7);
  CHECK(series_seed(7, 2) != series_seed(7, 3));
}

TEST_CASE("the submission tier draws its seed from the operating system", "[plan]") {
  RunRequest request = null_request();
  request["tier"] = "submission";
  const auto first = make_plan(request, home_folder()).context.seeds.run;
  const auto second = make_plan(request, home_folder()).context.seeds.run;
  const auto third = make_plan(request, home_folder()).context.seeds.run;
  CHECK((first != second || second != third));
}

TEST_CASE("a result becomes the request that repeats it", "[plan]") {
  RunRequest request = null_request();
  request["batch_size"] = 3;
  request["seed"] = 99;
  request["kernels"] = "custom";
  request["set"] = {"step-ms=0,1", "losses=3,2"};
  const RunPlan plan = make_plan(request, home_folder());
  Result result;
  result.rules.workload = "null";
  result.rules.tier = plan.tier_name;
  result.settings.effective = plan.effective;
  result.kernels = plan.context.kernels;
  result.seeds = plan.context.seeds;
  result.status.state = RunState::kValid;
  const RunPlan again = make_plan(request_from_result(result), home_folder());
  CHECK(again.context.batch_size == 3);
  CHECK(again.context.seeds.run == 99);
  CHECK(again.context.kernels == plan.context.kernels);
  CHECK(again.context.settings == plan.context.settings);
  CHECK(again.effective == plan.effective);
}

TEST_CASE("a result whose settings cannot be is not repeated", "[plan]") {
  Result result;
  result.rules.workload = "null";
  result.rules.tier = "quick";
  const auto about = [&](const char* part, const char* name, const nlohmann::json& value) {
    Result odd = result;
    (std::string(part) == "requested" ? odd.settings.requested : odd.settings.effective)[name] =
        value;
    const ErrorParts found = refusal_of([&] { request_from_result(odd); });
    CHECK(
        (found.about.empty() || found.names(name == std::string("wavelets") ? "" : value.dump())));
    return found.about;
  };
  CHECK(about("requested", "steps", "abc") == "setting steps of the result");
  CHECK(about("requested", "steps", 1.5) == "setting steps of the result");
  CHECK(about("requested", "scenario", 5) == "setting scenario of the result");
  CHECK(about("effective", "threads", -1) == "setting threads of the result");
  CHECK(about("effective", "wavelets", 1) == "setting wavelets of the result");
  CHECK(about("effective", "device", "cpu").empty());
}

TEST_CASE("a dry run is short whatever the tier", "[plan]") {
  RunRequest request = null_request();
  request["tier"] = "standard";
  request["dry_run"] = true;
  const RunPlan plan = make_plan(request, home_folder());
  CHECK(plan.tier.warmup_steps + plan.tier.min_steps == 3);
  CHECK(plan.runs == 1);
}

TEST_CASE("steps or seconds replace both parts of the tier's length", "[plan]") {
  RunRequest request = null_request();
  request["tier"] = "standard";
  request["steps"] = 7;
  const RunPlan steps = make_plan(request, home_folder());
  CHECK(steps.tier.min_steps == 7);
  CHECK(steps.tier.min_seconds == 0);
  CHECK(steps.context.planned_steps == 17);
  CHECK(steps.departures.size() == 2);
  request.settings.erase("steps");
  request["min_seconds"] = 1;
  const RunPlan seconds = make_plan(request, home_folder());
  CHECK(seconds.tier.min_steps == 1);
  CHECK(seconds.tier.min_seconds == 1);
  CHECK(seconds.departures.size() == 1);
  // The tier's own length, said aloud, is no departure.
  request["steps"] = 200;
  CHECK(make_plan(request, home_folder()).departures.empty());
}

TEST_CASE("a length that is not the tier's departs, whatever was asked for", "[plan]") {
  const Rules rules = load_rules(home_folder(), "null", scenario_infos());
  nlohmann::json document = {
      {"kind", "run"},
      {"workload", {{"tier", "quick"}}},
      {"settings",
       {{"requested", nlohmann::json::object()},
        {"effective",
         {{"batch_size", 1}, {"quality_target", 0.5}, {"min_steps", 5}, {"min_seconds", 0}}}}}};
  const std::vector<Departure> found = departures_of(rules, {}, document);
  REQUIRE(found.size() == 1);
  CHECK(found[0].path == "/settings/effective/min_steps");
  CHECK(found[0].expected == "20");
  CHECK(found[0].actual == "5");
  Result result;
  result.rules.division = "closed";
  CHECK_FALSE(check_division(rules, result, found).empty());
  // A profile is as long as it was told to be, and a dry run claims nothing.
  document["kind"] = "profile";
  CHECK(departures_of(rules, {}, document).empty());
  document["kind"] = "run";
  document["settings"]["requested"]["dry_run"] = true;
  CHECK(departures_of(rules, {}, document).empty());
}
