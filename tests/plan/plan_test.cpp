#include <catch2/catch.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/plan/division.hpp"
#include "harness/plan/plan.hpp"
#include "harness/plan/settings.hpp"
#include "harness/result/setting.hpp"
#include "harness/workload/rules_file.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

RunRequest null_request() {
  RunRequest request;
  request["workload"] = "null";
  return request;
}

std::string refusal(const RunRequest& request) {
  try {
    make_plan(request, home_folder());
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "accepted";
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
  const auto with = [](const std::function<void(RunRequest&)>& edit) {
    RunRequest request = null_request();
    edit(request);
    return refusal(request);
  };
  CHECK_THAT(with([](auto& r) { r["workload"] = "nul"; }), Catch::Contains("did you mean null?"));
  CHECK_THAT(with([](auto& r) { r["tier"] = "quik"; }), Catch::Contains("did you mean quick?"));
  CHECK_THAT(with([](auto& r) { r["precision"] = "fp23"; }), Catch::Contains("fp32"));
  CHECK_THAT(with([](auto& r) { r["allocator"] = "sistem"; }), Catch::Contains("system"));
  CHECK_THAT(with([](auto& r) { r["division"] = "close"; }), Catch::Contains("closed"));
  CHECK_THAT(with([](auto& r) { r["kernels"] = "costum"; }), Catch::Contains("custom"));
  CHECK_THAT(with([](auto& r) { r["kernels"] = "nothin=custom"; }), Catch::Contains("nothing"));
  CHECK_THAT(with([](auto& r) { r["kernels"] = "nothing=fast"; }), Catch::Contains("custom"));
  CHECK_THAT(with([](auto& r) { r["kernels"] = "nothing="; }),
             Catch::Contains("--kernels nothing"));
  CHECK_THAT(with([](auto& r) { r["batch_size"] = 0; }), Catch::Contains("--batch-size 0"));
  CHECK_THAT(with([](auto& r) { r["batch_size"] = -1; }), Catch::Contains("--batch-size -1"));
  CHECK_THAT(with([](auto& r) { r["threads"] = 0; }), Catch::Contains("--threads 0"));
  CHECK_THAT(with([](auto& r) { r["threads"] = 100000; }), Catch::Contains("CPUs are usable"));
  CHECK_THAT(with([](auto& r) { r["seed"] = -1; }), Catch::Contains("--seed -1"));
  CHECK_THAT(with([](auto& r) { r["seed"] = 4294967296; }), Catch::Contains("--seed"));
  CHECK_THAT(with([](auto& r) { r["runs"] = 0; }), Catch::Contains("--runs 0"));
  CHECK_THAT(with([](auto& r) { r["data"] = "/tmp"; }), Catch::Contains("takes no data"));
  CHECK_THAT(with([](auto& r) { r["cpus"] = "a-b"; }), Catch::Contains("a-b"));
  CHECK_THAT(with([](auto& r) { r["set"] = {"stepms=1"}; }), Catch::Contains("step-ms"));
  CHECK_THAT(with([](auto& r) { r["set"] = {"step-ms"}; }), Catch::Contains("has no value"));
  CHECK_THAT(with([](auto& r) { r["set"] = {"fail-prepare=maybe"}; }), Catch::Contains("yes"));
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
  CHECK_THAT(refusal(request), Catch::Contains("--waiting-rooms \"many\": is no whole number"));
  request[kName] = 10;
  CHECK_THAT(refusal(request), Catch::Contains("is not from 0 to 9"));
  request[kName] = 3;
  CHECK(make_plan(request, home_folder()).effective[kName] == 3);
  request["device"] = 3;
  CHECK_THAT(refusal(request), Catch::Contains("--device 3: is no text"));
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
  CHECK_THAT(refusal(request), Catch::Contains("--division closed"));
  CHECK_THAT(refusal(request), Catch::Contains("rules/null.json"));
  // The others may follow from it.
  request["scenario"] = "offline";
  CHECK_THAT(refusal(request), Catch::Contains("tier 'quick' of rules/null.json does not name "
                                               "scenario 'offline'; it names steps"));
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
  CHECK_THROWS_WITH(parse_kernels("b=custom", {here, elsewhere}), Catch::Contains("needs AVX-512"));
  CHECK_THROWS_WITH(parse_kernels("custom", {elsewhere}), Catch::Contains("needs AVX-512"));
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
  const auto refused = [&](const char* part, const char* name, const nlohmann::json& value) {
    Result odd = result;
    (std::string(part) == "requested" ? odd.settings.requested : odd.settings.effective)[name] =
        value;
    try {
      request_from_result(odd);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refused("requested", "steps", "abc"), Catch::Contains("\"abc\" is no whole number"));
  CHECK_THAT(refused("requested", "steps", 1.5), Catch::Contains("1.5 is no whole number"));
  CHECK_THAT(refused("requested", "scenario", 5), Catch::Contains("5 is no text"));
  CHECK_THAT(refused("effective", "threads", -1), Catch::Contains("-1 is not from 1"));
  CHECK_THAT(refused("effective", "wavelets", 1), Catch::Contains("no such setting"));
  CHECK(refused("effective", "device", "cpu") == "accepted");
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
