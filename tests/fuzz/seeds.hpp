// Small sound inputs of every fuzz target, to begin with.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/result_json.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/sample_ablation.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

inline std::string result_seed(nlohmann::json document) {
  document["digest"] = digest_of(document);
  return readable_json(document);
}

inline std::vector<std::string> weights_seeds() {
  const std::vector<PickledTensor> tensors = {
      {"a.weight", "FloatStorage", "0", 6, 0, {2, 3}, {}},
      {"a.transposed", "FloatStorage", "0", 6, 0, {3, 2}, {1, 3}},
      {"b.half", "HalfStorage", "1", 2, 0, {2}, {}},
      {"scalar", "LongStorage", "2", 1, 0, {}, {}}};
  const std::vector<std::string> storages = {raw_bytes(std::vector<float>{0, 1, 2, 3, 4, 5}),
                                             std::string("\x00\x3c\x00\x40", 4),
                                             raw_bytes(std::vector<std::int64_t>{7})};
  std::vector<std::string> seeds;
  const TemporaryFolder folder;
  for (const bool deflate : {false, true}) {
    write_zip_weights(folder / "w.pth", PickleWriter().state_dict(tensors).done(), storages,
                      deflate);
    seeds.push_back(read_file(folder / "w.pth", 1 << 20));
  }
  seeds.push_back(
      legacy_head() + PickleWriter(true).state_dict(tensors).done() +
      legacy_tail({{"0", 6, storages[0]}, {"1", 2, storages[1]}, {"2", 1, storages[2]}}));
  return seeds;
}

inline std::vector<std::string> safetensors_seeds() {
  const auto file = [](const std::string& header, const std::string& elements) {
    return little_endian(header.size(), 8) + header + elements;
  };
  const std::string floats = raw_bytes(std::vector<float>{1, 2});
  return {file(R"({"__metadata__":{"format":"pt"},)"
               R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
               R"("b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}} )",
               floats + "\x80\x3f"),
          file(R"({"module.b":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},)"
               R"("module.a":{"dtype":"F64","shape":[0,3],"data_offsets":[0,0]},)"
               R"("module.c":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
               floats + raw_bytes(std::vector<std::int64_t>{-1})),
          file("{}", "")};
}

/// By target.
inline std::map<std::string, std::vector<std::string>> fuzz_seeds() {
  std::map<std::string, std::vector<std::string>> seeds;
  Result run = sample_result();
  seeds["result"] = {result_seed(to_json(run))};
  run.training = TrainingReport{1, 5, 8, 8, 2.5, true, {{1, 3, "2026-01-31T12:00:30.000Z"}}};
  run.submission = {std::string(64, 'c'), {"/identity/command_line/0"}};
  run.identity.command_line = {"/home/alice/harness", "run", "--data=/scratch/alice/x"};
  seeds["result"].push_back(result_seed(to_json(run)));
  seeds["result"].push_back(result_seed(to_json(sample_ablation())));
  for (const auto& entry : std::filesystem::directory_iterator(home_folder() / "rules")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json" || name.starts_with("mlperf") ||
        name.ends_with(".schema.json")) {
      continue;
    }
    nlohmann::json rules = nlohmann::json::parse(read_file(entry.path(), 1 << 20));
    rules["workload"] = "null";
    seeds["rules"].push_back(rules.dump());
  }
  seeds["coco_json"] = {
      R"({"images": [{"id": 7, "file_name": "a.png", "width": 100, "height": 50}],
"annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [1.5, 2, 30, 4e1], "area": 9.5,
"iscrowd": 0, "segmentation": [[1, 2, 3]]}, {"id": 2, "image_id": 7, "category_id": 3,
"bbox": [-5, 0, 1000, null], "iscrowd": true}],
"categories": [{"id": 1, "name": "cat"}, {"id": 3, "name": "d\u00f6g"}]})",
      R"({"categories": [], "info": {"deep": [[{}]]}, "annotations": [], "images": []})"};
  seeds["words"] = {"A plain text, with a comma.",
                    "Na\xc3\xafve \xe6\x9d\xb1\xe4\xba\xac e\xcc\x81\xcc\xa3",
                    "ab abc\x01 [SEP] \xf0\x9f\x99\x82\xe2\x80\x8d \xff\xfe\xed\xa0\x80 \xc4\xb0"};
  seeds["weights"] = weights_seeds();
  seeds["safetensors"] = safetensors_seeds();
  const auto line = [](const std::string& key, const std::string& value, int ms) {
    return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(ms) +
           ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" + key + "\", \"value\": " + value +
           ", \"metadata\": {\"file\": \"a.cpp\", \"lineno\": 1, \"epoch_num\": 1}}\n";
  };
  seeds["mllog"] = {line("submission_benchmark", "\"ssd\"", 1) + line("init_start", "null", 2) +
                    line("global_batch_size", "16", 3) + "other text\r\n" +
                    line("run_start", "null", 4) + line("eval_accuracy", "0.341", 5) +
                    line("run_stop", "null", 6) + line("seed", "7", 7)};
  return seeds;
}

}  // namespace harness
