// End to end: no command writes over what was measured or over what it reads, by whatever way the
// file is reached; and a command that is refused leaves no empty folder behind.
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

/// All that lies below a folder: files with their content, links with their target.
std::map<std::string, std::string> everything_in(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string& content = found[entry.path().string()];
    if (entry.is_symlink()) {
      content = "-> " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      content = read_file(entry.path(), 64 << 20);
    }
  }
  return found;
}

/// Results of every kind, each in a folder of its own, with what lies beside them.
struct Measured {
  TemporaryFolder folder{};
  fs::path run{};
  fs::path other_run{};
  fs::path ablation{};
  fs::path profile{};
  fs::path training{};

  Measured() {
    const std::vector<std::string> run_null = {"run", "--workload", "null", "--set", "step-ms=0"};
    run = measure("run", run_null);
    other_run = measure("other", run_null);
    ablation =
        measure("ablation", {"ablate", "--workload", "null", "--rounds", "1", "--clusters", "1"});
    profile = measure("profile", {"profile", "--workload", "null", "--steps", "1"});
    training = measure("training", {"run", "--workload", "null", "--tier", "training", "--runs",
                                    "1", "--set", "quality=0.6"});
  }

  fs::path beside(fs::path file, const char* extension) const {
    return file.replace_extension(extension);
  }

  /// Refused in one line, and nothing is other than it was.
  void check_refused(const std::vector<std::string>& arguments, const std::string& why) const {
    const auto before = everything_in(folder.path());
    const Outcome outcome = run_harness(arguments, {}, folder.path());
    CAPTURE(arguments);
    check_one_error(outcome, 1, why);
    CHECK_THAT(outcome.err, Catch::Contains("(it would be replaced; choose another file)"));
    CHECK(everything_in(folder.path()) == before);
  }

 private:
  fs::path measure(const char* name, std::vector<std::string> command) const {
    command.insert(command.end(), {"--out", (folder / name).string()});
    fs::create_directories(folder / name);
    const Outcome outcome = run_harness(command);
    CAPTURE(outcome.out, outcome.err);
    REQUIRE(outcome.code == 0);
    return files_ending(folder / name, ".json").at(0);
  }
};

}  // namespace

TEST_CASE("report -o replaces neither an input nor anything that was measured", "[output][cli]") {
  const Measured measured;
  const fs::path& run = measured.run;
  const auto report = [&](const fs::path& input, const fs::path& page) {
    return std::vector<std::string>{"report", input.string(), "-o", page.string()};
  };
  // The input itself, by its name, its folder's, another spelling, and what lies beside it.
  measured.check_refused(report(run, run), "is an input or belongs to one");
  measured.check_refused(report(run.parent_path(), run), "is an input or belongs to one");
  measured.check_refused(report(run, run.parent_path() / ".." / "run" / run.filename()), "input");
  measured.check_refused(report(run, measured.beside(run, ".jsonl")), "input");
  measured.check_refused(report(measured.ablation, measured.ablation), "input");
  measured.check_refused(report(measured.profile, measured.beside(measured.profile, ".trace")),
                         "input");
  // Results that are no input.
  measured.check_refused(report(run, measured.other_run), "holds a result");
  measured.check_refused(report(run, measured.ablation), "holds a result");
  measured.check_refused(report(run, measured.profile), "holds a result");
  for (const fs::path& file : {measured.other_run, measured.ablation, measured.profile}) {
    measured.check_refused(report(run, measured.beside(file, ".jsonl")), "holds the samples");
  }
  measured.check_refused(report(run, measured.beside(measured.training, ".log")), "holds the log");
  for (const char* extension : {".log", ".trace"}) {
    measured.check_refused(report(run, measured.beside(measured.profile, extension)),
                           "belongs to the run beside it");
  }
  // Links of both kinds.
  const fs::path link = measured.folder / "page.html";
  for (const fs::path& target : {run, measured.other_run, measured.beside(run, ".jsonl"),
                                 measured.beside(measured.profile, ".trace")}) {
    fs::create_symlink(target, link);
    measured.check_refused(report(run, link), "page.html: leads to ");
    fs::remove(link);
  }
  for (const fs::path& target : {run, measured.other_run, measured.beside(run, ".jsonl")}) {
    fs::create_hard_link(target, link);
    measured.check_refused(report(run, link), "page.html: ");
    fs::remove(link);
  }
  // A damaged result is still one that somebody measured.
  const fs::path damaged = measured.folder / "damaged.json";
  std::ofstream(damaged) << read_file(run, 64 << 20).substr(0, 20000);
  measured.check_refused(report(run, damaged), "holds a result");
}

TEST_CASE("report -o replaces an older page, and other files that were never measured",
          "[output][cli]") {
  const Measured measured;
  const fs::path page = measured.folder / "report.html";
  const auto report = [&] {
    return run_harness({"report", measured.run.string(), "-o", page.string()});
  };
  CHECK(report().code == 0);
  CHECK(report().code == 0);
  std::ofstream(page) << "{\"kind\": \"recipe\", \"schema_version\": \"1\"}";
  CHECK(report().code == 0);
  fs::remove(page);
  std::ofstream(measured.folder / "old.html") << "old";
  fs::create_symlink("old.html", page);
  CHECK(report().code == 0);
  CHECK(fs::is_symlink(page));
  CHECK_THAT(read_file(page, 64 << 20), Catch::StartsWith("<!DOCTYPE html>"));
  CHECK(run_harness({"report", measured.run.string(), "-o", "/dev/null"}).code == 0);
}

TEST_CASE("gate --also replaces no result, and writes none of its files then", "[output][cli]") {
  const Measured measured;
  const auto gate = [&](const std::vector<std::string>& also) {
    std::vector<std::string> arguments = {"gate",        "--allow-debug",
                                          "--baseline",  measured.run.string(),
                                          "--candidate", measured.run.parent_path().string()};
    for (const std::string& one : also) arguments.insert(arguments.end(), {"--also", one});
    return arguments;
  };
  measured.check_refused(gate({"json=" + measured.run.string()}), "is an input or belongs to one");
  measured.check_refused(gate({"markdown=new.md", "json=" + measured.run.string()}), "input");
  measured.check_refused(gate({"json=" + measured.other_run.string()}), "holds a result");
  fs::create_hard_link(measured.run, measured.folder / "gate.json");
  measured.check_refused(gate({"json=gate.json"}), "gate.json: is an input");
  fs::remove(measured.folder / "gate.json");
  // A verdict over an older one is as before.
  for (int i = 0; i < 2; ++i) {
    CHECK(run_harness(gate({"json=gate.json"}), {}, measured.folder.path()).code == 5);
  }
  // Before any command runs.
  measured.check_refused({"gate", "--ab-base", "touch ran", "--ab-cand", "true", "--out",
                          "campaign", "--also", "json=" + measured.run.string()},
                         "holds a result");
}

TEST_CASE("a campaign's own times are not replaced by its report", "[output][cli]") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "campaign");
  const Outcome outcome =
      run_harness({"gate", "--ab-base", "true", "--ab-cand", "true", "--out", "campaign",
                   "--budget", "0.001", "--also", "json=campaign/times.jsonl"},
                  {}, folder.path());
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  REQUIRE(error_lines(outcome).size() == 1);
  CHECK_THAT(error_lines(outcome)[0],
             Catch::Contains("campaign/times.jsonl: holds the times of a campaign"));
  // Lines of JSON as before.
  CHECK(lines_of(folder / "campaign" / "times.jsonl").size() >= 2);
}

TEST_CASE("project's problem files replace no result", "[output][cli]") {
  const Measured measured;
  const std::vector<std::string> project = {
      "project", measured.profile.string(), "--no-measure", "--rounds", "1", "--out", "problems"};
  REQUIRE(run_harness(project, {}, measured.folder.path()).code == 0);
  const fs::path problem = files_ending(measured.folder / "problems", ".txt").at(0);
  // Over its own of the time before it writes again.
  CHECK(run_harness(project, {}, measured.folder.path()).code == 0);
  for (const fs::path& target : {measured.profile, measured.run}) {
    fs::remove(problem);
    fs::create_symlink(target, problem);
    measured.check_refused(project, "leads to " + target.string());
  }
}

TEST_CASE("an unfinished run's state is not replaced", "[output][cli]") {
  const Measured measured;
  const fs::path out = measured.folder / "unfinished";
  Process process({"run", "--workload", "null", "--tier", "training", "--runs", "1", "--set",
                   "step-ms=20", "--out", out.string()});
  wait_for_first_step(out);
  process.signal(SIGINT);
  REQUIRE(process.wait().code == 2);
  std::vector<fs::path> files = {out / "series.state"};
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().string().find(".state-") != std::string::npos) files.push_back(entry.path());
    if (entry.path().extension() == ".checkpoint") files.push_back(entry.path());
  }
  REQUIRE(files.size() == 3);
  for (const fs::path& file : files) {
    measured.check_refused({"report", measured.run.string(), "-o", file.string()},
                           file.filename().string());
  }
}

TEST_CASE("ablate makes a new folder, and replaces nothing by any link", "[output][ablate]") {
  const TemporaryFolder folder;
  const auto ablate = [&](const std::string& out) {
    return run_harness({"ablate", "--workload", "null", "--rounds", "1", "--clusters", "1", "--set",
                        "step-ms=0", "--out", out},
                       {}, folder.path());
  };
  for (const char* out : {"new", "deep/new", "slash/", "slash.d/"}) {
    CAPTURE(out);
    CHECK(ablate(out).code == 0);
    CHECK(files_ending(folder / out, ".json").size() == 1);
    CHECK(files_ending(folder / out, ".jsonl").size() == 1);
  }
  std::ofstream(folder / "note") << "mine";
  check_one_error(ablate("note"), 1, "neither a folder nor the name of a .json file");
  check_one_error(ablate("new.d"), 1, "--out ablations/ for a folder");
  CHECK(read_file(folder / "note", 100) == "mine");
  fs::create_symlink("note", folder / "link.json");
  fs::create_symlink("nowhere", folder / "loose.json");
  fs::create_symlink("note", folder / "fresh.jsonl");
  for (const char* out : {"link.json", "loose.json", "fresh.json"}) {
    CAPTURE(out);
    check_one_error(ablate(out), 1, "exists already");
  }
  CHECK(read_file(folder / "note", 100) == "mine");
}

TEST_CASE("a result kept among the temporary files replaces none there", "[output][cli]") {
  const TemporaryFolder folder;
  const TemporaryFolder temporary;
  std::ofstream(temporary / "a.json") << "of an earlier accident";
  const fs::path out = folder / "out";
  Process process({"ablate", "--workload", "null", "--rounds", "2", "--clusters", "1", "--set",
                   "step-ms=20", "--out", (out / "a.json").string()},
                  {"TMPDIR=" + temporary.path().string()});
  wait_for_line(out, ".jsonl", "\"event\":\"turn\"");
  fs::remove_all(out);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 1);
  CHECK(read_file(temporary / "a.json", 100) == "of an earlier accident");
  CHECK(run_harness({"validate", (temporary / "a-2.json").string()}).code == 0);
  CHECK_THAT(outcome.err, Catch::Contains("the result is kept as " + temporary.path().string()));
}

TEST_CASE("a command that is refused leaves no empty folder", "[output][cli]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = run_harness(arguments, {}, folder.path());
    CAPTURE(arguments, outcome.out, outcome.err);
    CHECK(outcome.code == 1);
    CHECK(everything_in(folder.path()).empty());
  };
  const std::string huge = "1000000000";
  refused({"run", "--workload", "null", "--batch-size", huge});
  refused({"run", "--workload", "null", "--batch-size", huge, "--out", "new/deep"});
  refused({"run", "--workload", "null", "--set", "fail-prepare=yes"});
  refused({"run", "--workload", "null", "--runs", "2", "--set", "fail-prepare=yes"});
  for (const char* runs : {"1", "2"}) {
    refused({"run", "--workload", "null", "--tier", "training", "--runs", runs, "--set",
             "fail-prepare=yes"});
  }
  refused({"ablate", "--workload", "null", "--batch-size", huge});
  refused({"ablate", "--workload", "null", "--set", "fail-prepare=yes", "--out", "new"});
  refused({"profile", "--workload", "null", "--batch-size", huge});
  refused({"profile", "--workload", "null", "--set", "recordable=no"});
  refused({"gate", "--ab-base", "true", "--ab-cand", "true", "--pairs", "1"});

  const TemporaryFolder recorded;
  REQUIRE(run_harness(
              {"profile", "--workload", "null", "--steps", "1", "--out", recorded.path().string()})
              .code == 0);
  refused({"project", files_ending(recorded.path(), ".json").at(0).string(), "--set",
           "batch-size=" + huge});
  // A folder that was there stays.
  fs::create_directories(folder / "mine");
  CHECK(run_harness({"run", "--workload", "null", "--batch-size", huge, "--out", "mine"}, {},
                    folder.path())
            .code == 1);
  CHECK(everything_in(folder.path()).size() == 1);
}
