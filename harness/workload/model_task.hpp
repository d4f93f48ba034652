// Somebody's own model, as a task file describes it (docs/tasks.md). Plain values: what a program
// is and how it runs is the business of the workload behind a task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

/// A file that runs, and what it must hash to before anything of it does.
struct ProgramFile {
  std::filesystem::path file{};
  std::string sha256{};
};

/// What the model gets for each sample; it takes (N, shape...).
struct ModelInput {
  std::string name{};
  std::vector<std::int64_t> shape{};
  std::string type = "float32";  ///< float32 | int64 | uint8
  double low = 0;                ///< drawn values lie between the two; whole ones reach both
  double high = 1;
};

/// Where the samples come from: one of the four.
struct ModelSamples {
  std::int64_t drawn = 0;  ///< so many, drawn within the inputs' ranges
  std::uint32_t seed = 0;  ///< that they are drawn from
  /// A file of safetensors: for each input a tensor of its name, (samples, shape...); "labels".
  std::filesystem::path tensors{};
  std::filesystem::path pictures{};  ///< a folder with one for each class
  std::filesystem::path boxes{};     ///< a folder of pictures in COCO format
  std::string preprocessing{};       ///< of pictures, by its name
  std::int64_t classes = 0;  ///< of pictures or boxes; 0: as many as the first output has values
};

/// How a model that gives its losses is trained.
struct ModelTraining {
  std::string optimizer = "sgd";  ///< sgd | adam
  double learning_rate = 0.01;
  double momentum = 0;  ///< of sgd
  double weight_decay = 0;
};

struct ModelTask {
  std::string format{};  ///< torchscript | aotinductor
  ProgramFile program{};
  /// TorchScript, in fp32; what the answers have to agree with. Empty: TorchScript's own answers in
  /// fp32, as it is.
  std::optional<ProgramFile> reference{};
  std::vector<ModelInput> inputs{};
  /// Shapes of what it gives for each sample; empty where it gives losses.
  std::vector<std::vector<std::int64_t>> outputs{};
  std::int64_t batch = 0;     ///< samples that the model takes, never another number; 0: any
  double query_seconds = 60;  ///< an answer that takes longer ends the run
  ModelSamples samples{};
  std::optional<ModelTraining> training{};  ///< empty: it answers queries
};

/// The qualities of a model that answers queries, and of one that trains, each with its direction.
const std::map<std::string, Direction>& model_metrics(bool trains);

/// Why the model cannot run in `precision`; empty where it can.
std::string precision_misfit(const ModelTask& task, const std::string& precision);

/// The section `model` of a task file that fits its schema; paths are below `folder`. Throws Error,
/// naming `file`, for shapes with more than 2^31 values together, a range that is none, a name that
/// is there twice, a training of what cannot be trained.
ModelTask model_task_from_json(const nlohmann::json& section, const std::filesystem::path& folder,
                               const std::string& file);

}  // namespace harness
