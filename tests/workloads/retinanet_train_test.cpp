// End to end: the program trains the whole model, on pictures small enough for a test.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "tests/support/fast_bf16.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/image.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A data folder in the plain layout: a bright square on noise in each picture.
class DataFolder {
 public:
  DataFolder() {
    for (const char* split : {"train", "eval"}) {
      fs::create_directories(folder_ / split);
      json document = {{"images", json::array()},
                       {"annotations", json::array()},
                       {"categories", {{{"id", 0}, {"name", "square"}}}}};
      for (int i = 0; i < 4; ++i) add_picture(document, split, i);
      std::ofstream(folder_ / (std::string(split) + ".json")) << document;
    }
  }
  std::string path() const { return folder_.path().string(); }
  fs::path operator/(const char* name) const { return folder_ / name; }

 private:
  void add_picture(json& document, const char* split, int i) {
    workloads::Image image{160, 144, std::vector<std::uint8_t>(std::size_t{160} * 144 * 3)};
    for (std::size_t k = 0; k < image.pixels.size(); ++k) {
      image.pixels[k] =
          static_cast<std::uint8_t>((k * 2654435761U + static_cast<unsigned>(i)) >> 26);
    }
    const std::size_t left = 30 + 5 * static_cast<std::size_t>(i);
    for (std::size_t y = 40; y < 100; ++y) {
      for (std::size_t x = left; x < left + 60; ++x) {
        for (std::size_t c = 0; c < 3; ++c) image.pixels[(y * 160 + x) * 3 + c] = 250;
      }
    }
    const std::string name = std::to_string(i) + ".png";
    std::ofstream(folder_ / split / name, std::ios::binary) << workloads::encode_png(image);
    document["images"].push_back({{"id", i}, {"file_name", name}, {"width", 160}, {"height", 144}});
    document["annotations"].push_back({{"id", i},
                                       {"image_id", i},
                                       {"category_id", 0},
                                       {"bbox", {30 + 5 * i, 40, 60, 60}},
                                       {"area", 3600},
                                       {"iscrowd", 0}});
  }

  TemporaryFolder folder_;
};

// Tests run side by side, and two threads that wait for each other by spinning take long on a busy
// machine: one thread where their number does not matter.
Outcome train(const DataFolder& data, const fs::path& out,
              const std::vector<std::string>& more = {}, const std::string& threads = "1") {
  std::vector<std::string> arguments = {
      "run",    "--workload", "retinanet-train", "--set",      "image-size=128x128",
      "--data", data.path(),  "--out",           out.string(), "--threads",
      threads};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_harness(arguments);
}

json result_in(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") return json::parse(read_file(entry, 64 << 20));
  }
  FAIL("no result in " << folder);
  return {};
}

std::vector<double> losses(const json& result) {
  std::vector<double> values;
  for (const json& metric : result["metrics"]) {
    if (metric["tag"] != "loss.total") continue;
    for (const json& sample : metric["samples"]) values.push_back(sample["value"]);
  }
  return values;
}

void check_refused(const Outcome& outcome, const std::string& part) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == 1);
  // Progress may stand before it; the last line is the error.
  const std::string err = outcome.err.substr(0, outcome.err.size() - 1);
  const std::string last = err.substr(err.rfind('\n') + 1);
  CHECK_THAT(last, Catch::StartsWith("harness: "));
  CHECK_THAT(last, Catch::Contains(part));
}

}  // namespace

TEST_CASE("a seed gives the same losses bit for bit, and --from repeats a result",
          "[train][long]") {
  const DataFolder data;
  const TemporaryFolder first;
  const TemporaryFolder second;
  const Outcome outcome = train(data, first.path(), {"--seed", "5"}, "2");
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = result_in(first.path());
  CHECK(result["status"]["state"] == "valid");
  CHECK(result["workload"]["division"] == "open");
  CHECK(result["workload"]["mlperf_equivalent"] == false);
  CHECK(losses(result).size() == 8);
  CHECK(result["quality"]["passed"] == true);
  CHECK(result["cost"]["calls"] == nlohmann::json{{"convolutions", 111}});
  std::string file;
  for (const auto& entry : fs::directory_iterator(first.path())) {
    if (entry.path().extension() == ".json") file = entry.path().string();
  }
  CHECK(run_harness({"validate", file}).code == 0);
  REQUIRE(run_harness({"run", "--from", file, "--out", second.path().string()}).code == 0);
  const json again = result_in(second.path());
  CHECK(losses(again) == losses(result));
  CHECK(again["weights"][0]["sha256"] == result["weights"][0]["sha256"]);
}

TEST_CASE("on one repeated batch at learning rate 1e-4 the loss falls, in both precisions",
          "[train][long]") {
  const DataFolder data;
  const std::string precision = GENERATE("fp32", "bf16");
  if (too_slow_here(precision)) return;
  const TemporaryFolder out;
  const Outcome outcome =
      train(data, out.path(),
            {"--set", "repeat-batch=yes", "--set", "warmup-epochs=0", "--precision", precision});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const std::vector<double> values = losses(result_in(out.path()));
  CHECK(values.back() < 0.9 * values.front());
}

TEST_CASE("without AVX-512 the model still equals the golden data", "[train][long]") {
  const DataFolder data;
  const TemporaryFolder out;
  const Outcome outcome = run_harness(
      {"run", "--workload", "retinanet-train", "--set", "image-size=128x128", "--data", data.path(),
       "--out", out.path().string(), "--threads", "1", "--dry-run"},
      {"ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2", "MKL_ENABLE_INSTRUCTIONS=AVX2"});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = result_in(out.path());
  CHECK(result["quality"]["passed"] == true);
  CHECK(result["kernels"]["conv-block"] == "custom");
  CHECK(result["system"]["software"]["cpu_capability"] == "AVX2");
  CHECK(result["system"]["software"]["vector_target"] == "AVX2");
}

TEST_CASE("variants are processes of their own, each with its memory and quality",
          "[train][long]") {
  const json list = json::parse(run_harness({"list", "--json"}).out);
  bool pooled = false;
  for (const json& workload : list["workloads"]) {
    if (workload["name"] != "retinanet-train") continue;
    for (const json& allocator : workload["offers"]["allocator"])
      pooled = pooled || allocator == "pooled";
  }
  const DataFolder data;
  const TemporaryFolder out;
  const fs::path file = out / "ablation.json";
  const Outcome outcome = run_harness(
      {"ablate", "--workload", "retinanet-train", "--set", "image-size=128x128", "--data",
       data.path(), "--rounds", "1", "--clusters", "1", "--threads", "1", "--variants",
       pooled ? "out-of-the-box,pooled" : "out-of-the-box", "--out", file.string()});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json ablation = json::parse(read_file(file, 64 << 20));
  CHECK(ablation["status"]["state"] == "valid");
  CHECK(ablation["variants"].size() == (pooled ? 2U : 1U));
  CHECK(ablation["data"]["sha256"].is_string());
  for (const json& variant : ablation["variants"]) {
    CHECK(variant["quality_passed"] == true);
    CHECK(variant["phases"].size() == 5);
    // Weights and Adam's moments alone are 0.4 GiB.
    CHECK(variant["peak_memory_bytes"] > 0.4e9);
    CHECK(variant["peak_memory_bytes"] < 0.9e9);
  }
  CHECK(run_harness({"validate", file.string()}).code == 0);
}

TEST_CASE("ladders name operators that their workloads have", "[train]") {
  const json list = json::parse(run_harness({"list", "--json"}).out);
  for (const json& workload : list["workloads"]) {
    const std::string file = workload["rules"]["file"];
    const json rules = json::parse(read_file(home_folder() / file, 1 << 20));
    if (!rules.contains("ablation")) continue;
    const auto operators = workload["operators"].get<std::vector<std::string>>();
    for (const json& variant : rules["ablation"]["variants"]) {
      if (!variant.contains("kernels")) continue;
      for (const auto& [name, implementation] : variant["kernels"].items()) {
        INFO(file << ": " << variant["name"] << ": " << name);
        CHECK(std::find(operators.begin(), operators.end(), name) != operators.end());
      }
    }
  }
}

TEST_CASE("what cannot be run is refused in one line before anything is measured", "[train]") {
  const DataFolder data;
  const TemporaryFolder out;
  check_refused(train(data, out.path(), {"--batch-size", "1000000000"}), "needs about");
  check_refused(train(data, out.path(), {"--tier", "submission"}),
                "4 images do not make one batch of 16");
  check_refused(train(data, out.path(), {"--kernels", "focal-lss=reference"}), "focal-loss");
  // An operator that other workloads have.
  check_refused(train(data, out.path(), {"--kernels", "encoder=custom"}), "encoder");
  check_refused(train(data, out.path(), {"--batch-size", "9"}), "images");
  check_refused(run_harness({"run", "--workload", "retinanet-train", "--set", "image-size=12"}),
                "HEIGHTxWIDTH");
  check_refused(run_harness({"run", "--workload", "retinanet-train", "--set", "workers=1.5"}),
                "not a whole number from 1 to 256");
  check_refused(run_harness({"run", "--workload", "retinanet-train", "--data", "/nowhere", "--out",
                             out.path().string()}),
                "/nowhere");
  for (const auto& entry : fs::directory_iterator(out.path())) {
    CHECK(entry.path().extension() != ".json");
  }
}

TEST_CASE("weights that cannot be used are refused", "[train]") {
  const DataFolder data;
  const TemporaryFolder folder;
  std::ofstream(folder / "text.pth") << "not weights";
  const std::string hostile(
      "\x80\x02"
      "cposix\nsystem\nX\x04\x00\x00\x00true\x85R.",
      28);
  std::ofstream(folder / "hostile.pth", std::ios::binary) << hostile;
  const auto with = [&](const std::string& file) {
    return train(data, folder / "out", {"--set", "weights=" + file});
  };
  check_refused(with("/nowhere.pth"), "/nowhere.pth");
  check_refused(with((folder / "text.pth").string()), "text.pth");
  check_refused(with((folder / "hostile.pth").string()), "hostile.pth");
}

TEST_CASE("a truncated picture is named", "[train]") {
  const DataFolder data;
  for (int i = 0; i < 4; ++i) {
    fs::resize_file(data / "train" / (std::to_string(i) + ".png"), 500);
  }
  const TemporaryFolder out;
  check_refused(train(data, out.path()), ".png");
}

TEST_CASE("without Fashion-MNIST the error names the package and the variable", "[train]") {
  const TemporaryFolder cache;
  const Outcome outcome =
      run_harness({"run", "--workload", "retinanet-train", "--out", (cache / "out").string()},
                  {"HARNESS_FASHION_MNIST=/nowhere", "XDG_CACHE_HOME=" + cache.path().string()});
  check_refused(outcome, "HARNESS_FASHION_MNIST");
}

TEST_CASE("verify says verified for the golden data, and not verified for altered data",
          "[train]") {
  const fs::path golden = home_folder() / "tests" / "golden" / "retinanet_b.json";
  const Outcome good = run_harness({"verify", "--golden", golden.string()});
  CHECK(good.code == 0);
  CHECK_THAT(good.out, Catch::EndsWith("verified\n"));
  json altered = json::parse(read_file(golden, 64 << 20));
  altered["expected"]["matched"][0]["foreground"] =
      altered["expected"]["matched"][0]["foreground"].get<int>() + 1;
  const TemporaryFolder folder;
  std::ofstream(folder / "altered.json") << altered;
  const Outcome bad = run_harness({"verify", "--golden", (folder / "altered.json").string()});
  CHECK(bad.code == 3);
  CHECK_THAT(bad.out, Catch::EndsWith("not verified\n"));
}
