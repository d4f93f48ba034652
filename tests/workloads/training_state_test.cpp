// Saving a training's state and going on from it, bit for bit.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/retinanet/calibration.hpp"
#include "workloads/retinanet/detection_batches.hpp"
#include "workloads/torch/training_state.hpp"

namespace fs = std::filesystem;
using namespace harness;
using namespace harness::workloads;
using Catch::Contains;

namespace {

constexpr std::int64_t kBatchSize = 2;
constexpr std::size_t kPictures = 7;

RetinaNetConfig tiny(std::int64_t head_depth = 1, std::int64_t channels = 16) {
  return {.num_classes = 3,
          .height = 64,
          .width = 64,
          .kernels = {{"conv-block", "custom"}},
          .architecture = {.stem_channels = 16,
                           .blocks = {1, 1, 1, 1},
                           .groups = 8,
                           .pyramid_channels = channels,
                           .pyramid_levels = 3,
                           .head_depth = head_depth,
                           .smallest_anchor = 16,
                           .trains_whole_body = true}};
}

// Pictures of noise, each with a box.
AnnotationSet make_set(const fs::path& folder) {
  std::ostringstream images;
  std::ostringstream annotations;
  for (std::size_t i = 0; i < kPictures; ++i) {
    const std::string number = std::to_string(i);
    Image image{64, 64, std::vector<std::uint8_t>(std::size_t{64} * 64 * 3)};
    for (std::size_t k = 0; k < image.pixels.size(); ++k) {
      image.pixels[k] = static_cast<std::uint8_t>(k * (i + 3) * 2654435761U >> 24);
    }
    std::ofstream(folder / (number + ".png"), std::ios::binary) << encode_png(image);
    const char* const comma = i == 0 ? "" : ", ";
    images << comma << "{\"id\": " << i << ", \"file_name\": \"" << i
           << ".png\", \"width\": 64, \"height\": 64}";
    annotations << comma << "{\"image_id\": " << i << ", \"category_id\": 0, \"bbox\": [" << i
                << ", 9, 30, 40]}";
  }
  std::ofstream(folder / "a.json", std::ios::binary)
      << "{\"images\": [" << images.str() << "], \"annotations\": [" << annotations.str()
      << R"(], "categories": [{"id": 0, "name": "a"}]})";
  return read_annotations(folder / "a.json", folder, {.num_classes = 3}, {});
}

BatchOptions options_at(std::int64_t start) {
  return {.batch_size = kBatchSize,
          .height = 64,
          .width = 64,
          .data_order_seed = 5,
          .augmentation_seed = 6,
          .workers = 2,
          .start = start};
}

// A training that can be stopped and gone on with, as a workload does it.
class Training {
 public:
  Training(const AnnotationSet& set, const RetinaNetConfig& config, std::int64_t start)
      : model(config), batches(set, options_at(start)) {
    model.parameters().set_initial_values(9);
    adam = kernels::make_adam_state(model.parameters().trainable());
  }

  double step() {
    const Batch batch = batches.next([] {});
    const at::Tensor loss = model.loss(model.forward(batch.images), batch.targets).total();
    loss.backward();
    kernels::optimizer_operator().get("custom")(adam, 1e-3);
    kernels::clear_gradients(adam);
    return loss.item<double>();
  }

  RetinaNet model;
  kernels::AdamState adam{};
  DetectionBatches batches;
};

std::vector<double> steps(Training& training, int count) {
  std::vector<double> losses;
  for (int i = 0; i < count; ++i) losses.push_back(training.step());
  return losses;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

struct Plain {
  explicit Plain(const RetinaNetConfig& config, std::uint32_t seed = 1) : model(config) {
    model.parameters().set_initial_values(seed);
    adam = kernels::make_adam_state(model.parameters().trainable());
  }
  void save(const fs::path& path, const TrainingCounters& counters = {}) const {
    save_training_state(path, model.parameters(), adam, counters);
  }
  TrainingCounters load(const fs::path& path) {
    return load_training_state(path, model.parameters(), adam);
  }
  RetinaNet model;
  kernels::AdamState adam{};
};

bool same_bits(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor a = one.detach().contiguous().view(-1).view(at::kInt);
  const at::Tensor b = other.detach().contiguous().view(-1).view(at::kInt);
  return at::equal(a, b);
}

}  // namespace

TEST_CASE("a training that was saved goes on bit for bit", "[training-state]") {
  const TemporaryFolder folder;
  const AnnotationSet set = make_set(folder.path());
  Training whole(set, tiny(), 0);
  calibrate_norms(whole.model, whole.batches.next([] {}).images);
  std::vector<double> expected;
  const fs::path path = folder / "state";
  for (int i = 0; i < 9; ++i) {
    if (i == 4) {
      // One batch went into the calibration, four were trained on: past the first epoch of three.
      save_training_state(path, whole.model.parameters(), whole.adam,
                          {{"iteration", 4}, {"samples", 5 * kBatchSize}});
    }
    expected.push_back(whole.step());
  }
  const TrainingCounters counters = [&] {
    Training before(set, tiny(), 0);
    return load_training_state(path, before.model.parameters(), before.adam);
  }();
  REQUIRE(counters == TrainingCounters{{"iteration", 4}, {"samples", 10}});
  Training resumed(set, tiny(), counters.at("samples"));
  load_training_state(path, resumed.model.parameters(), resumed.adam);
  CHECK(steps(resumed, 5) == std::vector<double>(expected.begin() + 4, expected.end()));
  for (const Parameter& parameter : whole.model.parameters().all()) {
    INFO(parameter.name);
    CHECK(same_bits(parameter.tensor, resumed.model.parameters().get(parameter.name)));
  }
  CHECK(resumed.adam.steps == whole.adam.steps);
  for (std::size_t i = 0; i < whole.adam.steps.size(); ++i) {
    CHECK(same_bits(whole.adam.first_moments[i], resumed.adam.first_moments[i]));
    CHECK(same_bits(whole.adam.second_moments[i], resumed.adam.second_moments[i]));
  }
}

TEST_CASE("loading replaces what kernels have prepared", "[training-state]") {
  const TemporaryFolder folder;
  const Plain saved(tiny(), 1);
  saved.save(folder / "state");
  Plain other(tiny(), 2);
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::ones({1, 3, 64, 64});
  const at::Tensor expected = saved.model.forward(images).logits[0];
  CHECK_FALSE(at::equal(other.model.forward(images).logits[0], expected));
  other.load(folder / "state");
  CHECK(at::equal(other.model.forward(images).logits[0], expected));
  CHECK(other.model.parameters().get("backbone.body.conv1.weight").requires_grad());
}

TEST_CASE("every bit of values and counters comes back", "[training-state]") {
  const TemporaryFolder folder;
  Plain saved(tiny());
  {
    const at::NoGradGuard no_grad;
    const at::Tensor& weight = saved.model.parameters().get("backbone.body.conv1.weight");
    weight[0][0][0][0] = std::numeric_limits<float>::quiet_NaN();
    weight[0][0][0][1] = -0.0F;
    weight[0][0][0][2] = std::numeric_limits<float>::denorm_min();
    weight[0][0][0][3] = -std::numeric_limits<float>::infinity();
  }
  saved.adam.steps[3] = 1 << 30;
  const TrainingCounters counters = {{"most", INT64_MAX}, {"least", INT64_MIN}, {"", 0}};
  saved.save(folder / "state", counters);
  Plain loaded(tiny(), 2);
  CHECK(loaded.load(folder / "state") == counters);
  CHECK(loaded.adam.steps == saved.adam.steps);
  for (const Parameter& parameter : saved.model.parameters().all()) {
    CHECK(same_bits(parameter.tensor, loaded.model.parameters().get(parameter.name)));
  }
  // The same state gives the same file.
  loaded.save(folder / "again", counters);
  CHECK(read_file(folder / "again", 1 << 30) == read_file(folder / "state", 1 << 30));
}

TEST_CASE("a state of something else is refused, and nothing changes", "[training-state]") {
  const TemporaryFolder folder;
  const fs::path path = folder / "state";
  Plain plain(tiny());
  const at::Tensor first = plain.model.parameters().all()[0].tensor.detach().clone();
  const auto refused = [&](const std::string& why) {
    INFO(why);
    CHECK_THROWS_WITH(plain.load(path), Contains(why) && !Contains("\n"));
    CHECK_THROWS_AS(plain.load(path), Error);
    CHECK(at::equal(plain.model.parameters().all()[0].tensor, first));
    CHECK(plain.adam.steps[0] == 0);
  };
  refused("does not exist");
  fs::create_directory(path);
  refused("is not a regular file");
  fs::remove(path);
  Plain(tiny(2), 3).save(path);
  refused("is of another model: it has head.classification_head.conv.2.weight where");
  Plain(tiny(0), 3).save(path);
  refused("is of another model: it has no head.classification_head.conv.0.weight");
  Plain(tiny(1, 24), 3).save(path);
  refused("is of another model: backbone.fpn.inner_blocks.0.weight has another shape");
  Plain other_adam(tiny(), 3);
  other_adam.adam.beta2 = 0.99;
  other_adam.save(path);
  refused("another optimizer");

  Plain(tiny(), 3).save(path);
  const std::string good = read_file(path, 1 << 30);
  const auto altered = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    write_text(path, text.replace(place, from.size(), to));
  };
  altered("state/2", "state/3");
  refused("has the format harness-training-state/3");
  altered("harness-training", "harness-straying");
  refused("is not a training state");
  altered("\"steps\"", "\"stops\"");
  refused("its steps are none");
  altered("\"adam\"", "\"adam");
  refused("its header is no JSON");
  altered("\"steps\":\"[0", "\"steps\":\"[x");
  refused("its steps are none");
  altered("\"steps\":\"[0,0", "\"steps\":\"[1.5");
  refused("no whole number");
  write_text(path, good + "x");
  refused("goes on behind the last tensor");
  write_text(path, "");
  refused("is no safetensors file");
  write_text(path, "harness-training-state/1\n12\n{}");
  refused("was saved by an earlier version of this program (begin the run anew)");
}

TEST_CASE("a training state cut anywhere or with any byte changed does no harm",
          "[training-state]") {
  const TemporaryFolder folder;
  const fs::path path = folder / "state";
  Plain plain(tiny());
  plain.save(path, {{"iteration", 3}});
  const std::string good = read_file(path, 1 << 30);
  const std::size_t header = good.find("}}") + 2;
  REQUIRE(header < good.size());
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{20}, std::size_t{27}, std::size_t{40}, header / 2, header - 1,
        header, header + 5, good.size() / 2, good.size() - 1}) {
    write_text(path, good.substr(0, length));
    INFO("length " << length);
    CHECK_THROWS_AS(plain.load(path), Error);
  }
  int refused = 0;
  for (std::size_t place = 0; place < header; place += 97) {
    std::string text = good;
    text[place] = static_cast<char>(text[place] ^ 0x15);
    write_text(path, text);
    try {
      plain.load(path);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 20);
}

TEST_CASE("what cannot be written or does not belong together", "[training-state]") {
  const TemporaryFolder folder;
  const Plain plain(tiny());
  CHECK_THROWS_WITH(plain.save(folder / "no" / "state"), Contains("No such file"));
  if (fs::exists("/dev/full")) {
    CHECK_THROWS_WITH(plain.save("/dev/full"), Contains("No space left"));
  }
  Plain other(tiny());
  CHECK_THROWS_AS(save_training_state(folder / "state", plain.model.parameters(), other.adam, {}),
                  std::invalid_argument);
}

TEST_CASE("batches go on where they were left", "[training-state][data]") {
  const TemporaryFolder folder;
  const AnnotationSet set = make_set(folder.path());
  const auto none = [] {};
  DetectionBatches whole(set, options_at(0));
  for (int i = 0; i < 4; ++i) whole.next(none);
  DetectionBatches resumed(set, options_at(4 * kBatchSize));
  for (int i = 0; i < 5; ++i) {
    const Batch expected = whole.next(none);
    const Batch batch = resumed.next(none);
    CHECK(at::equal(batch.images, expected.images));
    REQUIRE(batch.targets.size() == expected.targets.size());
    for (std::size_t k = 0; k < batch.targets.size(); ++k) {
      CHECK(at::equal(batch.targets[k].boxes, expected.targets[k].boxes));
    }
  }
  CHECK_THROWS_AS(DetectionBatches(set, options_at(-1)), std::invalid_argument);
}
