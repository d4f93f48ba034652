#include "harness/result/redact.hpp"

#include <catch2/catch.hpp>

#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/result/result_json.hpp"
#include "tests/support/sample_ablation.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

const PrivateNames kAlice = {{"/home/alice", "/nfs/people/alice/"},
                             {"/home/alice/src/harness"},
                             {"alice"},
                             {"Node7.lab.org", "Node7"},
                             {"Project X"}};

/// `text` as a free text of a document comes out.
std::string free_text(const std::string& text, const PrivateNames& names = kAlice) {
  json document = {{"identity", {{"command_line", {text}}}}};
  const std::vector<std::string> pointers = redact(document, names);
  std::string after = document["identity"]["command_line"][0];
  const std::vector<std::string> expected =
      after == text ? std::vector<std::string>{}
                    : std::vector<std::string>{"/identity/command_line/0"};
  CHECK(pointers == expected);
  json again = document;
  CHECK(redact(again, names).empty());  // nothing is left to be done
  return after;
}

}  // namespace

TEST_CASE("homes, checkouts, accounts and machines give way to placeholders", "[redact]") {
  CHECK(free_text("/home/alice") == "$HOME");
  CHECK(free_text("/home/alice/") == "$HOME/");
  CHECK(free_text("--data=/home/alice/coco") == "--data=$HOME/coco");
  CHECK(free_text("file:///home/alice/coco") == "file://$HOME/coco");
  CHECK(free_text("/home/alice/src/harness/.venv") == "$HARNESS/.venv");
  CHECK(free_text("/nfs/people/alice/x:/home/alice/y") == "$HOME/x:$HOME/y");
  CHECK(free_text("/mnt/home/alice/x") == "/mnt$HOME/x");
  CHECK(free_text("see /home/alice.") == "see $HOME.");
  CHECK(free_text("/scratch/alice/x") == "/scratch/$USER/x");
  CHECK(free_text("alice@node7: by ALICE") == "$USER@$HOST: by $USER");
  CHECK(free_text("node7.lab.org") == "$HOST");
  CHECK(free_text("of Project X, secret") == "of $PRIVATE, secret");
}

TEST_CASE("what only looks like a name stays", "[redact]") {
  for (const char* text :
       {"malice", "alice2", "/homes/x", "/home/", "/home", "node77", "$USER", "", "/opt/data",
        "/usr/share", "harness", "a/b", "/rooted/x", "/data/root/x"}) {
    CHECK(free_text(text) == text);
  }
}

TEST_CASE("homes of other accounts go too, whoever asks", "[redact]") {
  CHECK(free_text("/home/bob/x", {}) == "$HOME/x");
  CHECK(free_text("/Users/bob/x", {}) == "$HOME/x");
  CHECK(free_text("/root/.cache/x", {}) == "$HOME/.cache/x");
  CHECK(free_text("/root", {}) == "$HOME");
  CHECK(free_text("/home/bob/x on /scratch/bob/y, bob@lab", {}) ==
        "$HOME/x on /scratch/$USER/y, $USER@lab");
  CHECK(free_text("a root of /root", {{}, {}, {"root"}, {"localhost"}, {}}) == "a root of $HOME");
}

TEST_CASE("folders that everybody has are no homes", "[redact]") {
  const PrivateNames names = {{"/", "/tmp", "", "relative"}, {"/usr", "/opt/"}, {""}, {""}, {""}};
  CHECK(free_text("/tmp/x and /usr/lib and relative", names) == "/tmp/x and /usr/lib and relative");
}

TEST_CASE("keys, samples' reasons and library folders are texts too", "[redact]") {
  json document = json::parse(R"({
    "data": {"details": {"/home/alice/a.json": "3", "/home/bob/a.json": "4"}},
    "metrics": [{"samples": [{"reason": "alice slept"}]}],
    "system": {"software": {"openmp_library": "/opt/x/lib/libgomp.so.1",
                            "blas": "/usr/lib/libblas.so"}}})");
  const auto pointers = redact(document, kAlice);
  CHECK(document["data"]["details"] == json{{"$HOME/a.json", "3"}, {"$HOME/a.json'", "4"}});
  CHECK(document["metrics"][0]["samples"][0]["reason"] == "$USER slept");
  CHECK(document["system"]["software"]["openmp_library"] == "$FOLDER/libgomp.so.1");
  CHECK(document["system"]["software"]["blas"] == "/usr/lib/libblas.so");
  CHECK(pointers.size() == 4);
  for (const std::string& pointer : pointers) CHECK(document.contains(json::json_pointer(pointer)));
}

TEST_CASE("a library's folder goes wherever the library lies", "[redact]") {
  const auto library = [](const char* path) {
    json document = {{"system", {{"software", {{"openmp_library", path}}}}}};
    redact(document, kAlice);
    return document["system"]["software"]["openmp_library"].get<std::string>();
  };
  for (const char* path :
       {"/home/alice/venv/lib/libgomp.so.1", "/opt/x/libgomp.so.1", "/usr/people/bob/libgomp.so.1",
        "./lib/libgomp.so.1", "../libgomp.so.1", "$FOLDER/libgomp.so.1"}) {
    CAPTURE(path);
    CHECK(library(path) == "$FOLDER/libgomp.so.1");
  }
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libgomp.so.1", "/lib64/libgomp.so.1",
                           "/usr/local/lib/libgomp.so.1", "libgomp.so.1"}) {
    CHECK(library(path) == path);
  }
}

TEST_CASE("an account named like what is measured renames nothing", "[redact]") {
  PrivateNames names;
  names.users = {"null",   "run",    "quick", "reference", "valid", "lower", "forward",
                 "pooled", "system", "fp32",  "time",      "s",     "open",  "harness"};
  json run = to_json(sample_result());
  const json before = run;
  redact(run, names);
  CHECK(run["workload"] == before["workload"]);
  CHECK(run["kernels"] == before["kernels"]);
  CHECK(run["status"]["state"] == before["status"]["state"]);
  CHECK(run["metrics"][0]["tag"] == before["metrics"][0]["tag"]);
  CHECK(run["metrics"][0]["unit"] == before["metrics"][0]["unit"]);
  CHECK(run["settings"]["effective"] == before["settings"]["effective"]);
  CHECK(run["identity"]["command_line"] == json{"$USER", "$USER", "--workload", "$USER"});
  CHECK_NOTHROW(result_from_json(run));
  json ablation = to_json(sample_ablation());
  const json variants = ablation["variants"];
  redact(ablation, names);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (const char* key : {"name", "settings", "turns"}) {
      CHECK(ablation["variants"][i][key] == variants[i][key]);
    }
  }
}

TEST_CASE("a long text stays within what a result may hold", "[redact]") {
  std::string text;
  while (text.size() < 4000) text += "/w/ ";
  json document = {{"identity", {{"command_line", {text}}}}};
  redact(document, {{"/w"}, {}, {}, {}, {}});
  const std::string after = document["identity"]["command_line"][0];
  CHECK(after.size() == 4096);
  CHECK(after.starts_with("$HOME/ $HOME/ "));
}

TEST_CASE("a pointer into the file is no path of an account", "[redact]") {
  json document = {
      {"workload", {{"departures", {{{"path", "/settings/x"}, {"actual", "/a/settings"}}}}}},
      {"data", {{"source", "/home/settings/x"}}}};
  redact(document, {});
  CHECK(document["workload"]["departures"][0]["path"] == "/settings/x");
  CHECK(document["workload"]["departures"][0]["actual"] == "/a/$USER");
  CHECK(document["data"]["source"] == "$HOME/x");
}
