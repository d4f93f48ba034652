// End to end: results of the null workload into a results tree, and what is not let in.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/result.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

json read(const fs::path& file) { return json::parse(read_file(file, 64 << 20)); }

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.push_back(entry.path());
  }
  return files;
}

/// Somebody's home with a result in it, and a tree to submit it to.
class Fixture {
 public:
  Fixture() {
    fs::create_directories(home());
    original_ = measured("first");
  }

  fs::path home() const { return folder_ / "people" / "quentin"; }
  fs::path tree() const { return folder_ / "tree"; }
  const fs::path& original() const { return original_; }

  Outcome call(const std::vector<std::string>& arguments) const {
    return run_harness(arguments, {"HOME=" + home().string(), "USER=quentin"});
  }

  /// The result of one more command, in its own folder of the home.
  fs::path measured(const std::string& name, std::vector<std::string> command = {"run"}) const {
    const fs::path out = home() / name;
    fs::create_directories(out);
    command.insert(command.begin() + 1,
                   {"--workload", "null", "--set", "step-ms=0", "--out", out.string()});
    call(command);
    const std::vector<fs::path> files = files_ending(out, ".json");
    REQUIRE(files.size() == 1);
    return files.front();
  }

  /// The original after `edit`, under another name; with a digest that fits unless told otherwise.
  fs::path edited(const std::function<void(json&)>& edit, bool mend_digest = true) const {
    json document = read(original_);
    edit(document);
    if (mend_digest) document["digest"] = digest_of(document);
    fs::path file = home() / "edited.json";
    std::ofstream(file) << readable_json(document);
    return file;
  }

  Outcome submit(const std::vector<fs::path>& files,
                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"submit", "--to", tree().string()};
    for (const fs::path& file : files) words.push_back(file.string());
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }

  Outcome check() const { return call({"submit", "--check", tree().string()}); }

  void refuses(const std::vector<fs::path>& files, int code, const std::string& part) const {
    const std::size_t before = files_below(tree()).size();
    check_one_error(submit(files), code, part);
    CHECK(files_below(tree()).size() == before);
  }

 private:
  TemporaryFolder folder_;
  fs::path original_;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a submitted run names nobody, lies in its place and is valid",
                 "[submit][cli]") {
  const Outcome outcome = submit({original()});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains(": valid"));
  CHECK_THAT(outcome.out, Catch::Contains("  redacted /identity/command_line/"));
  CHECK_THAT(outcome.out, Catch::Contains("submitted  1 file to "));
  const std::vector<fs::path> files = files_below(tree());
  REQUIRE(files.size() == 1);
  const json before = read(original());
  const json after = read(files[0]);
  const std::string uuid = before["identity"]["uuid"];
  CHECK_THAT(files[0].filename().string(), Catch::EndsWith("-null-" + uuid.substr(0, 8) + ".json"));
  const std::string text = read_file(files[0], 64 << 20);
  CHECK(text.find("quentin") == std::string::npos);
  CHECK(text.find(home().string()) == std::string::npos);
  CHECK_THAT(after["identity"]["command_line"].dump(), Catch::Contains("$HOME/first"));
  CHECK(after["submission"]["original_digest"] == before["digest"]);
  CHECK_FALSE(after["submission"]["redacted"].empty());
  CHECK(after["digest"] != before["digest"]);
  CHECK(after["schema_version"] == kResultSchemaVersion);
  CHECK(after["metrics"] == before["metrics"]);
  CHECK(call({"validate", files[0].string()}).code == 0);
  CHECK(call({"validate", tree().string()}).code == 0);
  CHECK(check().code == 0);
}

TEST_CASE_METHOD(Fixture, "an ablation and a second run join the first without touching it",
                 "[submit][cli]") {
  CHECK(submit({original()}).code == 0);
  const std::vector<fs::path> first = files_below(tree());
  const std::string text = read_file(first.at(0), 64 << 20);
  const fs::path second = measured("second");
  const fs::path ablation = measured("third", {"ablate", "--rounds", "1", "--clusters", "1"});
  const Outcome outcome = submit({second, ablation});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK(files_below(tree()).size() == 3);
  CHECK(read_file(first.at(0), 64 << 20) == text);
  CHECK(check().code == 0);
}

TEST_CASE_METHOD(Fixture, "a whole folder is submitted, and other texts are redacted on demand",
                 "[submit][cli]") {
  const Outcome outcome =
      submit({home() / "first"}, {"--redact", "step-ms", "--redact", "nothing like it"});
  CHECK(outcome.code == 0);
  const json after = read(files_below(tree()).at(0));
  CHECK_THAT(after["identity"]["command_line"].dump(), Catch::Contains("$PRIVATE=0"));
}

TEST_CASE_METHOD(Fixture, "an empty text cannot be redacted", "[submit][cli]") {
  check_one_error(submit({original()}, {"--redact", ""}), 1, "--redact ''");
  CHECK(files_below(tree()).empty());
}

TEST_CASE_METHOD(Fixture, "the same run is there once, whatever it is called", "[submit][cli]") {
  const fs::path copy = home() / "copy.json";
  fs::copy_file(original(), copy);
  refuses({original(), copy}, 1, "is there already: ");
  CHECK(files_below(tree()).empty());
  CHECK(submit({original()}).code == 0);
  refuses({original()}, 1, "is there already: ");
  refuses({copy}, 1, "the same run, by its uuid");
  const fs::path shared = home() / "shared.json";
  fs::copy_file(files_below(tree()).at(0), shared);
  refuses({shared}, 1, "is there already: ");
  // Another machine's folder, and another name.
  const fs::path there = files_below(tree()).at(0);
  fs::create_directories(tree() / "elsewhere");
  fs::rename(there, tree() / "elsewhere" / "renamed.json");
  refuses({original()}, 1, "renamed.json");
  // Another run whose name would be the same.
  fs::remove_all(tree());
  CHECK(submit({original()}).code == 0);
  refuses({edited([](json& d) {
            std::string uuid = d["identity"]["uuid"];
            uuid.back() = uuid.back() == '0' ? '1' : '0';
            d["identity"]["uuid"] = uuid;
          })},
          1, "its place is taken");
}

TEST_CASE_METHOD(Fixture, "a file shared before keeps the digest it was measured with",
                 "[submit][cli]") {
  CHECK(submit({original()}).code == 0);
  const fs::path first = files_below(tree()).at(0);
  const fs::path other = home() / "other";
  CHECK(call({"submit", first.string(), "--to", other.string()}).code == 0);
  CHECK(read(files_below(other).at(0)) == read(first));
}

TEST_CASE_METHOD(Fixture, "what is damaged, edited or no measurement is not let in",
                 "[submit][cli]") {
  refuses({edited([](json& d) { d["seeds"]["run"] = 7; }, false)}, 1, "damaged or edited");
  refuses({home() / "none.json"}, 1, "No such file");
  refuses({edited([](json& d) { d["surprise"] = 1; })}, 3, "unknown field");
  refuses({edited([](json& d) { d["schema_version"] = "1.99.0"; })}, 3, "use a newer harness");
  refuses({measured("missed", {"run", "--set", "quality=0.4"})}, 3, "sound file of an invalid run");
  refuses({measured("failed", {"run", "--set", "fail-at=5"})}, 3, "sound file of an aborted run");
  refuses({measured("dry", {"run", "--dry-run"})}, 3, "dry run");
  // One of them among good ones: nothing is written, and what cannot be read decides the code.
  const fs::path broken = edited([](json& d) { d["seeds"]["run"] = 7; }, false);
  refuses({original(), broken, home() / "dry"}, 1, "edited.json");
  CHECK_FALSE(fs::exists(tree()));
}

TEST_CASE_METHOD(Fixture, "files of an older schema are taken and raised to this one",
                 "[submit][cli]") {
  const fs::path file = edited([](json& d) { d["schema_version"] = "1.0.0"; });
  const Outcome outcome = submit({file});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK(read(files_below(tree()).at(0))["schema_version"] == kResultSchemaVersion);
}

TEST_CASE_METHOD(Fixture, "notes say what others should know", "[submit][cli]") {
  const Outcome outcome = submit({edited([](json& d) {
    d["identity"]["git_commit"] = "0123456789abcdef";
    d["identity"]["git_dirty"] = true;
    d["status"]["mistrusted"] = true;
    d["status"]["mistrust_reasons"].push_back("it was a hot day");
  })});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out,
             Catch::Contains("note: built from files that differ from commit 0123456"));
  CHECK_THAT(outcome.out, Catch::Contains("it was a hot day"));
}

TEST_CASE_METHOD(Fixture, "no hostile text leads out of the tree or drives the terminal",
                 "[submit][cli]") {
  const fs::path file = edited([](json& d) {
    const char* evil = "../../../<script>alert(1)</script>\x1b[2J/etc";
    d["system"]["cpu"]["model_name"] = evil;
    d["system"]["cpu"]["vendor"] = evil;
    d["identity"]["command_line"] = {evil, "/home/quentin\x1b[2J", "../x"};
    d["weights"] = json::array({{{"name", evil},
                                 {"source", "../../home/quentin"},
                                 {"sha256", std::string(64, 'a')},
                                 {"details", {{evil, evil}}}}});
    d["hyperparameters"][evil] = evil;
  });
  const Outcome outcome = submit({file});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  const std::vector<fs::path> files = files_below(tree());
  REQUIRE(files.size() == 1);
  CHECK(files[0].lexically_relative(tree()).begin()->string().find("..") == std::string::npos);
  CHECK(check().code == 0);
  // Names that the schema binds are refused, not bent.
  refuses({edited([](json& d) { d["workload"]["name"] = "../../x"; })}, 3, "/workload/name");
  refuses({edited([](json& d) { d["identity"]["started_at"] = "../../x"; })}, 3, "/started_at");
  refuses({edited([](json& d) { d["identity"]["uuid"] = "/etc/passwd"; })}, 3, "/identity/uuid");
}

TEST_CASE_METHOD(Fixture, "a machine's folder that is a link is not followed", "[submit][cli]") {
  CHECK(submit({original()}).code == 0);
  const fs::path machine = files_below(tree()).at(0).parent_path();
  const fs::path outside = home() / "outside";
  fs::create_directories(outside);
  fs::remove_all(machine);
  fs::create_directory_symlink(outside, machine);
  refuses({original()}, 1, "is a link");
  CHECK(fs::is_empty(outside));
}

TEST_CASE_METHOD(Fixture, "a tree in which something is not as submitted is told so",
                 "[submit][cli]") {
  check_one_error(check(), 1, "no such folder");
  fs::create_directories(tree());
  check_one_error(check(), 1, "holds no result file");
  CHECK(submit({original()}).code == 0);
  const fs::path good = files_below(tree()).at(0);
  const auto finds = [&](int code, const std::string& part) {
    const Outcome outcome = check();
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == code);
    CHECK_THAT(outcome.out, Catch::Contains(part));
  };
  SECTION("a file that was renamed") {
    fs::rename(good, good.parent_path() / "mine.json");
    finds(1, "belongs at " + good.lexically_relative(tree()).string());
  }
  SECTION("the same run twice") {
    fs::create_directories(tree() / "other");
    fs::copy_file(good, tree() / "other" / good.filename());
    finds(1, "/identity/uuid: the same run as ");
  }
  SECTION("a file as it was measured") {
    fs::copy_file(edited([](json& d) { d["identity"]["command_line"] = {"/home/bob/harness"}; }),
                  good, fs::copy_options::overwrite_existing);
    finds(1, "/identity/command_line/0: names a home");
  }
  SECTION("a damaged file") {
    std::ofstream(good, std::ios::app) << "x";
    finds(1, "not JSON");
  }
  SECTION("a dry run") {
    fs::copy_file(edited([](json& d) { d["status"]["state"] = "dry-run"; }), good,
                  fs::copy_options::overwrite_existing);
    finds(3, "a dry run is no measurement");
  }
  SECTION("schemas and other files are none of it") {
    std::ofstream(tree() / "x.schema.json") << "{}";
    std::ofstream(tree() / "README.md") << "text";
    finds(0, "1 file, all as submitted");
  }
}

TEST_CASE("the results tree of the repository is as submitted", "[submit][cli]") {
  const Outcome outcome = run_harness({"submit", "--check", (home_folder() / "results").string()});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
}

TEST_CASE("submit refuses options that do not go together", "[submit][cli]") {
  check_one_error(run_harness({"submit"}), 1, "--to: missing");
  check_one_error(run_harness({"submit", "--to", "x"}), 1, "no file given");
  check_one_error(run_harness({"submit", "--check", "x", "--mlperf"}), 1,
                  "--mlperf: means nothing");
  check_one_error(run_harness({"submit", "--check", "x", "y.json"}), 1, "no files");
  check_one_error(run_harness({"submit", "--to", "x", "--rehearsal", "y.json"}), 1,
                  "--rehearsal: means nothing");
}
