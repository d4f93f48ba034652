// Detection on the pictures of an evaluation set, a query after another: what the tasks share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/coco_map/coco_map.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/inference/inference.hpp"
#include "workloads/retinanet/model.hpp"

namespace harness::workloads {

/// What tells one task from another.
struct DetectionSpec {
  std::string model{};  ///< in words
  Architecture architecture{};
  int classes = 264;
  std::int64_t side = 800;  ///< of the pictures that the network takes, pixels
  std::string scenes{};     ///< name of the default data's scene set
  /// The file that "golden-parity" is against, below the project's folder.
  std::string golden{};
  /// Weights for a model that the user gives none; what they are.
  std::function<Artifact(RetinaNet& model, const WorkloadContext& context)> own_weights{};
};

/// What such a task is.
WorkloadInfo detection_info(const std::string& name, const std::string& summary);

/// Quality metrics: "mAP", COCO's over all answers; "golden-parity", the largest error of the
/// kernels against MLPerf's model in tolerances, whatever the answers are.
class DetectionTask : public Inference {
 public:
  explicit DetectionTask(DetectionSpec spec) : spec_(std::move(spec)) {}

  Description describe(const WorkloadContext& context) const override;
  DataReport open_data(const WorkloadContext& context) override;

 private:
  void build_model() override;
  std::int64_t training_samples() const override;
  void run_training_sample(std::int64_t sample) override;
  WorkloadFacts facts_of_model() const override;
  std::int64_t samples() const override;
  void load(const Samples& samples) override;
  at::Tensor answer(const Samples& samples) override;
  Quality score(const at::Tensor& answers) const override;
  bool judges_answers() const override;
  Batch picture(const AnnotationSet& set, std::int64_t sample) const;

  DetectionSpec spec_;
  std::optional<DataSource> data_{};
  std::vector<CocoGroundTruth> ground_truth_{};
  std::optional<RetinaNet> model_{};
  Artifact weights_{};
  std::map<std::int64_t, Batch> loaded_{};  ///< of one picture each
};

}  // namespace harness::workloads
