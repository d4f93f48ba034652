// End to end: what `--resume` goes on with, and what it says where it cannot.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/measure/saved_json.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/training_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

Outcome resume(const fs::path& folder) { return run_harness({"run", "--resume", folder.string()}); }

/// A run that was stopped in its first epoch; its files are there to be damaged.
struct Stopped {
  TemporaryFolder out{};

  Stopped() {
    Process process(training(out.path(), {"--runs", "1", "--set", "step-ms=10"}));
    wait_until(
        [&] { return fs::exists(out.path()) && !files_ending(out.path(), ".checkpoint").empty(); });
    process.signal(SIGINT);
    const Outcome outcome = process.wait();
    CAPTURE(outcome.out, outcome.err);
    REQUIRE(outcome.code == 2);
  }

  fs::path file(const std::string& extension) const {
    return files_ending(out.path(), extension).at(0);
  }
  fs::path state() const { return out / saved()["state_file"].get<std::string>(); }
  json saved() const { return json::parse(text(file(".checkpoint"))); }

  static std::string text(const fs::path& path) { return read_file(path, 1 << 20); }
  static void write(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  /// As if the program itself had written it so.
  void edit(const fs::path& path, const std::function<void(json&)>& change) const {
    json document = json::parse(text(path));
    document.erase("sha256");
    change(document);
    write_saved_json(path, document);
  }

  std::map<std::string, std::string> all_files() const {
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(out.path())) {
      files[entry.path().filename().string()] = text(entry.path());
    }
    return files;
  }

  /// One line with a hint and without the words of a library or a word against it; every file stays
  /// as it was.
  void refuses(const std::string& part) const {
    const auto before = all_files();
    const Outcome outcome = resume(out.path());
    check_one_error(outcome, 1, part);
    CHECK_THAT(outcome.err, Catch::EndsWith(")\n"));
    for (const char* word :
         {"json.exception", "parse error", "syntax error", "to go on from here"}) {
      CHECK_THAT(outcome.err, !Catch::Contains(word));
    }
    CHECK(all_files() == before);
  }
};

}  // namespace

TEST_CASE("a saved state that is gone is missed, and nothing starts over", "[training][resume]") {
  const Stopped run;
  SECTION("the checkpoint") {
    fs::remove(run.file(".checkpoint"));
    run.refuses("the saved state of run 1 of 1 is gone");
  }
  SECTION("everything but the series' own file") {
    for (const fs::directory_entry& entry : fs::directory_iterator(run.out.path())) {
      if (entry.path().filename() != "series.state") fs::remove(entry.path());
    }
    run.refuses("the saved state of run 1 of 1 is gone");
  }
  SECTION("what the workload saved") {
    fs::remove(run.state());
    run.refuses("the saved state is gone");
  }
  SECTION("the series' own file") {
    fs::remove(run.out / "series.state");
    run.refuses("its file series.state is gone");
  }
  SECTION("the samples") {
    fs::remove(run.file(".jsonl"));
    run.refuses("cannot be opened");
  }
}

TEST_CASE("a damaged file of a stopped run is refused by name, in words of our own",
          "[training][resume]") {
  const Stopped run;
  const fs::path series = run.out / "series.state";
  const fs::path header = run.file(".checkpoint");
  SECTION("cut short") {
    const fs::path file = GENERATE_COPY(series, header);
    Stopped::write(file, Stopped::text(file).substr(0, 100));
    run.refuses(file.filename().string() + ": is damaged: it is no whole JSON file");
  }
  SECTION("empty") {
    const fs::path file = GENERATE_COPY(series, header);
    Stopped::write(file, "");
    run.refuses("is damaged: it is empty");
  }
  SECTION("of something else") {
    const fs::path file = GENERATE_COPY(series, header);
    Stopped::write(file, GENERATE("[1, 2]",
                                  "\x7f"
                                  "ELF",
                                  "null", "{"));
    run.refuses("is damaged");
  }
  SECTION("without a format") {
    const fs::path file = GENERATE_COPY(series, header);
    Stopped::write(file, "{}");
    run.refuses("has the format ''");
  }
  SECTION("of another version") {
    const fs::path file = GENERATE_COPY(series, header);
    run.edit(file, [](json& document) { document["format"] = "harness-checkpoint/9"; });
    run.refuses("has the format 'harness-checkpoint/9', this program reads harness-");
    run.edit(file, [](json& document) { document["format"] = "harness-checkpoint/2"; });
    run.refuses("has the format 'harness-checkpoint/2', this program reads harness-");
  }
  SECTION("with a changed digit") {
    const fs::path file = GENERATE_COPY(series, header);
    std::string content = Stopped::text(file);
    // Of the UUID: a digit of the format would make it another version's.
    char& digit =
        content.at(content.find_first_of("012345678", content.find("\"series_id\"") + 11));
    ++digit;
    Stopped::write(file, content);
    run.refuses("was changed since the run wrote it");
  }
  SECTION("without a member") {
    run.edit(header, [](json& document) { document.erase("log_size"); });
    run.refuses("is damaged: a value is missing");
  }
  SECTION("with a member of another type") {
    run.edit(series, [](json& document) { document["arguments"] = 5; });
    run.refuses("is damaged: a value is missing, or is not what belongs there");
  }
  SECTION("with numbers that cannot be") {
    run.edit(header, [](json& document) { document["training"]["epoch"] = -5; });
    run.refuses("is damaged: impossible epochs");
  }
  SECTION("with names that lead elsewhere") {
    run.edit(header, [](json& document) { document["state_file"] = "../../etc/passwd"; });
    run.refuses("names files of another run");
  }
  SECTION("with a series that leads elsewhere") {
    run.edit(series, [](json& document) { document["series_id"] = "../../somewhere"; });
    run.refuses("is damaged: no such series");
  }
  SECTION("what the workload saved") {
    Stopped::write(run.state(), GENERATE("null 3 1\n", ""));
    run.refuses("its SHA-256 differs");
  }
}

TEST_CASE("samples and logs that were altered since are not gone on with", "[training][resume]") {
  const Stopped run;
  const fs::path file = run.file(GENERATE(".jsonl", ".log"));
  std::string content = Stopped::text(file);
  SECTION("a digit") {
    char& digit = content.at(content.find_first_of("012345678"));
    ++digit;
    Stopped::write(file, content);
    run.refuses(file.filename().string() + ": was changed since the run wrote it");
  }
  SECTION("the end") {
    Stopped::write(file, content.substr(0, content.size() / 4));
    run.refuses(file.filename().string() + ": is shorter than it was");
  }
  SECTION("what stands behind the saved state is cut off anyway") {
    Stopped::write(file, content + "what a run that was killed had still written");
    const Outcome outcome = resume(run.out.path());
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(losses_by_step(run.out.path()).size() == 40);
    check_log_passes(run.out.path());
  }
}

TEST_CASE("a run goes on where and how it began, or not at all", "[training][resume]") {
  const Stopped run;
  const auto with = [&](const std::string& key, const json& value, const std::string& part) {
    run.edit(run.file(".checkpoint"), [&](json& document) { document["conditions"][key] = value; });
    run.refuses(part);
  };
  SECTION("kernels") {
    with("kernels", {{"nothing", "custom"}},
         R"(the run's kernels.nothing was "custom", now it is "reference")");
  }
  SECTION("settings") {
    json settings = run.saved()["conditions"]["settings"];
    settings["threads"] = 4711;
    with("settings", settings, "the run's settings.threads was 4711, now it is");
  }
  SECTION("rules") { with("rules", "0123", "the rules of the workload have changed"); }
  SECTION("machine") { with("machine", "0123", "another machine"); }
  SECTION("program") {
    run.edit(run.out / "series.state",
             [](json& document) { document["program"] = "harness 0.0.1"; });
    run.refuses("was begun by harness 0.0.1, this is harness");
  }
}

TEST_CASE("data that changed since are refused before they are used", "[training][resume]") {
  const Stopped run;
  run.edit(run.file(".checkpoint"),
           [](json& document) { document["conditions"]["data"] = "0123"; });
  const Outcome outcome = resume(run.out.path());
  CHECK(outcome.code == 1);
  REQUIRE(error_lines(outcome).size() == 1);
  CHECK_THAT(error_lines(outcome)[0], Catch::Contains("the data have changed since the run began"));
}

TEST_CASE("a folder without an unfinished series says what it holds instead",
          "[training][resume]") {
  const TemporaryFolder folder;
  const auto refuses = [](const fs::path& path, const std::string& part) {
    check_one_error(resume(path), 1, part);
  };
  const auto quick = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "run", "--workload", "null", "--out", folder.path().string(), "--set", "step-ms=20"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  SECTION("no folder") {
    refuses(folder / "nowhere", "there is no such folder");
    std::ofstream(folder / "file") << "x";
    refuses(folder / "file", "is no folder");
  }
  SECTION("nothing") { refuses(folder.path(), "no unfinished series lies there"); }
  SECTION("one result") {
    REQUIRE(run_harness(quick({})).code == 0);
    refuses(folder.path(), "is finished: its result lies there");
  }
  SECTION("a whole series") {
    REQUIRE(run_harness(training(folder.path(), {"--runs", "2"})).code == 0);
    refuses(folder.path(), "is finished: its 2 results lie there");
  }
  SECTION("a run of a number of steps that was stopped") {
    Process process(quick({"--tier", "standard", "--runs", "1"}));
    wait_for_first_step(folder.path());
    process.signal(SIGINT);
    CHECK(process.wait().code == 2);
    refuses(folder.path(), "was stopped and left no saved state");
  }
  SECTION("a run of a number of steps that was killed") {
    Process process(quick({"--tier", "standard", "--runs", "1"}));
    wait_for_first_step(folder.path());
    process.signal(SIGKILL);
    process.wait();
    refuses(folder.path(), "a run was killed there");
  }
}

TEST_CASE("a result of a series that was damaged since is not measured again unasked",
          "[training][resume]") {
  const TemporaryFolder out;
  Process process(training(out.path(), {"--runs", "2", "--pause", "60"}));
  wait_until([&] { return !files_ending(out.path(), ".json").empty(); });
  process.signal(SIGINT);
  REQUIRE(process.wait().code == 2);
  const fs::path file = files_ending(out.path(), ".json").at(0);
  SECTION("cut") {
    fs::resize_file(file, fs::file_size(file) / 2);
    const Outcome outcome = resume(out.path());
    check_one_error(outcome, 1, "the result of run 1 of 2 is damaged");
    CHECK_THAT(outcome.err, Catch::Contains("remove it to measure run 1 of 2 again"));
  }
  SECTION("gone") {
    fs::remove(file);
    Process again({"run", "--resume", out.path().string()});
    wait_until([&] { return !files_ending(out.path(), ".json").empty(); });
    again.signal(SIGINT);
    CHECK_THAT(again.wait().err,
               Catch::Contains("run 1 of 2 has no whole result and no saved state"));
  }
  SECTION("the series' own file is gone") {
    fs::remove(out / "series.state");
    check_one_error(resume(out.path()), 1, "its file series.state is gone");
  }
}

TEST_CASE("a run that was killed before its first state says that it begins anew",
          "[training][resume][kill]") {
  const TemporaryFolder out;
  Process process(training(out.path(), {"--runs", "1", "--set", "step-ms=1,100000"}));
  wait_for_first_step(out.path());
  process.signal(SIGKILL);
  process.wait();
  REQUIRE(fs::exists(out / "series.state"));
  // The second step takes too long to wait for: what is said comes before it.
  Process again({"run", "--resume", out.path().string()});
  wait_until([&] { return files_ending(out.path(), ".jsonl").size() == 2; });
  again.signal(SIGKILL);
  CHECK_THAT(again.wait().err, Catch::Contains("run 1 of 1 has no whole result and no saved state: "
                                               "it is measured again from its start"));
}

TEST_CASE("a failure while resuming ends with 2, and the result tells of it",
          "[training][resume]") {
  const TemporaryFolder out;
  // A step takes longer than what lies between two saved states at most, so that each is saved.
  const Outcome first = run_harness(
      training(out.path(), {"--runs", "1", "--set", "step-ms=60", "--set", "fail-at=4"}));
  CHECK(first.code == 2);
  CHECK(results_in(out.path()).at(0)["training"]["resumed"].empty());
  const Outcome again = resume(out.path());
  CAPTURE(again.out, again.err);
  CHECK(again.code == 2);
  const json result = results_in(out.path()).at(0);
  CHECK(result["training"]["resumed"].size() == 1);
  CHECK(result["training"]["steps"] == 3);
  CHECK(result["status"]["violations"][0]["actual"] == "null: told to fail at step 4");
  CHECK_THAT(again.err,
             Catch::Contains("to go on from here: " + harness_program() + " run --resume"));
}

TEST_CASE("a resumed run that diverges before its next evaluation has its last quality",
          "[training][resume]") {
  const TemporaryFolder out;
  std::string losses = "losses=1";
  for (int step = 2; step < 20; ++step) losses += ",1";
  Process process(
      training(out.path(), {"--runs", "1", "--set", "step-ms=60", "--set", losses + ",nan"}));
  wait_for_line(out.path(), ".jsonl", "\"event\":\"evaluated\"");
  process.signal(SIGINT);
  REQUIRE(process.wait().code == 2);
  CHECK(resume(out.path()).code == 3);
  const json result = results_in(out.path()).at(0);
  CHECK(result["training"]["steps"] == 20);
  CHECK(result["quality"]["value"] == 0.1);
}
