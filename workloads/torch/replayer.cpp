#include "workloads/torch/replayer.hpp"

#include <utility>

#include "harness/base/error.hpp"
#include "kernels/replay/described.hpp"
#include "kernels/runtime/versions.hpp"

namespace harness::workloads {
namespace {

class Prepared final : public PreparedPrimitive {
 public:
  explicit Prepared(std::unique_ptr<kernels::Replay> replay) : replay_(std::move(replay)) {}
  void chill() override { replay_->chill(); }
  void run() override {
    try {
      replay_->run();
    } catch (const std::exception& error) {
      throw Error("replay", reason(error));
    }
  }
  std::string implementation() const override { return replay_->implementation(); }

 private:
  std::unique_ptr<kernels::Replay> replay_;
};

class TorchReplayer final : public Replayer {
 public:
  TorchReplayer(int threads, const ReplaySizes& sizes)
      : threads_(threads), memory_(sizes.cache_bytes, sizes.most_bytes) {}

  std::unique_ptr<PreparedPrimitive> prepare(const Primitive& primitive,
                                             const std::string& library) override {
    try {
      return as_prepared(kernels::make_replay(primitive, library == "harness", threads_, memory_));
    } catch (const std::exception& error) {
      throw Error(primitive.kind + " " + primitive.problem, reason(error));
    }
  }

  std::string library() const override {
    return "oneDNN " + kernels::library_versions().at("onednn");
  }

 private:
  int threads_;
  kernels::ReplayMemory memory_;
};

}  // namespace

std::unique_ptr<PreparedPrimitive> as_prepared(std::unique_ptr<kernels::Replay> replay) {
  return std::make_unique<Prepared>(std::move(replay));
}

std::unique_ptr<Replayer> make_replayer(int threads, const ReplaySizes& sizes) {
  return std::make_unique<TorchReplayer>(threads, sizes);
}

}  // namespace harness::workloads
