// Training of a RetinaNet on detection data: what the full benchmark and the small one share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/optimizer/optimizer.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/distributed/gradient_buckets.hpp"
#include "workloads/distributed/gradient_sum.hpp"
#include "workloads/retinanet/architecture.hpp"
#include "workloads/retinanet/detection_batches.hpp"
#include "workloads/retinanet/learning_rate.hpp"
#include "workloads/retinanet/model.hpp"
#include "workloads/torch/torch_workload.hpp"

namespace harness::workloads {

/// What tells one training from another.
struct TrainingSpec {
  Architecture architecture{};
  int classes = 264;
  std::string scenes{};  ///< name of the default data's scene set
  Schedule schedule = Schedule::kConstant;
  /// Norms take their statistics from so many training pictures when the training begins; 0: they
  /// are what the weights say.
  std::int64_t calibration_images = 0;
};

/// What such a workload is, with the defaults of its settings.
WorkloadInfo training_info(const std::string& name, const std::string& summary,
                           const std::string& image_size, const std::string& learning_rate,
                           const std::string& warmup_epochs);

/// Quality metrics: "mAP", COCO's over the evaluation split; "golden-parity", the largest error of
/// the kernels against golden data in tolerances.
class RetinaNetTraining : public TorchWorkload, public Trains, public Verifiable {
 public:
  explicit RetinaNetTraining(TrainingSpec spec) : spec_(std::move(spec)) {}

  Description describe(const WorkloadContext& context) const override;
  DataReport open_data(const WorkloadContext& context) override;
  void begin_steps() override;
  void rest() override { batches_->rest(while_waiting()); }
  std::int64_t steps_per_epoch() const override;
  StepStats step() override;
  Quality evaluate() override;
  void save_state(const std::filesystem::path& file) const override;
  void load_state(const std::filesystem::path& file) override;
  void write_weights(const std::filesystem::path& file,
                     const std::map<std::string, std::string>& labels) const override;
  std::vector<Check> verify(const std::filesystem::path& golden,
                            const WorkloadContext& context) override;

 private:
  struct Settings {
    std::int64_t height = 0;
    std::int64_t width = 0;
    double learning_rate = 0;
    double warmup_epochs = 0;
    int workers = 2;
    bool repeat_batch = false;
    std::string weights{};
  };

  Settings parse_settings(const std::map<std::string, std::string>& settings) const;
  void build() override;
  WorkloadFacts facts_of_model() const override;
  std::map<std::string, std::string> hyperparameters() const;
  void load_initial_weights();
  void calibrate();
  std::function<void()> while_waiting() const;
  BatchOptions batch_options() const;
  Batch next_batch();
  LearningRate learning_rate() const;

  TrainingSpec spec_;
  Settings settings_;
  std::shared_ptr<const DataSource> data_;
  std::optional<RetinaNet> model_;
  kernels::AdamFn* adam_step_ = nullptr;
  kernels::AdamState adam_;
  std::optional<GradientSum> gradients_;           ///< of several ranks
  std::optional<GradientTimes> gradient_times_{};  ///< of one that is recorded
  std::optional<DetectionBatches> batches_;
  std::optional<Batch> repeated_;
  Artifact weights_;
  std::int64_t iteration_ = 0;
  bool resumed_ = false;
};

}  // namespace harness::workloads
