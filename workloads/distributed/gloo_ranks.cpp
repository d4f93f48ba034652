// The engine for ranks: gloo, which LibTorch brings along, by LibTorch's own backend for it. Only
// the headers of gloo itself are missing; what LibTorch's header wants to see of them lies in
// gloo/ beside this file. The build compiles and runs this against the LibTorch at hand before it
// takes it (gloo.cmake).
#include <ATen/ATen.h>
#include <sys/socket.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "workloads/distributed/torch_ranks.hpp"

namespace harness::workloads {
namespace {

/// Runs what speaks with other ranks.
template <class Work>
auto with_others(const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;  // in our own words already
  } catch (const c10::Error& error) {
    throw LostRank(error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw LostRank(error.what());
  }
}

class GlooSum : public PendingSum {
 public:
  GlooSum(c10::intrusive_ptr<c10d::Work> work, const Stopwatch* stopwatch)
      : work_(std::move(work)), timed_(stopwatch != nullptr) {
    if (!timed_) return;
    began_ = stopwatch->now();
    work_->getFuture()->addCallback([ended = ended_, stopwatch](c10::ivalue::Future& /*done*/) {
      ended->store(stopwatch->now());
    });
  }
  ~GlooSum() override {
    // Nobody may go, the stopwatch least of all, while it is under way.
    if (waited_) return;
    try {
      wait();
    } catch (const LostRank&) {
      // Whoever asked for it hears of it elsewhere.
    }
  }
  void wait() override {
    waited_ = true;
    try {
      with_others([&] { return work_->wait(); });
    } catch (const LostRank&) {
      settle();
      throw;
    }
    settle();
  }
  double began() const override { return began_; }
  double ended() const override { return ended_->load(); }

 private:
  /// The note of its end comes behind it, by microseconds, from another thread.
  void settle() const {
    for (int i = 0; timed_ && ended_->load() == 0 && i < kMostYields; ++i) {
      std::this_thread::yield();
    }
  }

  static constexpr int kMostYields = 1'000'000;
  c10::intrusive_ptr<c10d::Work> work_;
  bool timed_;
  bool waited_ = false;
  double began_ = 0;
  std::shared_ptr<std::atomic<double>> ended_ = std::make_shared<std::atomic<double>>(0);
};

/// What gloo asks of the place where ranks find each other: their addresses, and no more.
class PlaceStore : public c10d::Store {
 public:
  explicit PlaceStore(const RankPlace& place) : place_(place) {}

  c10::intrusive_ptr<c10d::Store> clone() override {
    return c10::make_intrusive<PlaceStore>(place_);
  }
  using c10d::Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override {
    place_.put(key, std::string(value.begin(), value.end()));
  }
  std::vector<std::uint8_t> get(const std::string& key) override {
    const std::string value = place_.get(key);
    return {value.begin(), value.end()};
  }
  using c10d::Store::wait;
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) place_.get(key);
  }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& /*timeout*/) override {
    wait(keys);
  }
  std::int64_t add(const std::string&, std::int64_t) override { throw not_here(); }
  bool deleteKey(const std::string&) override { throw not_here(); }
  bool check(const std::vector<std::string>&) override { throw not_here(); }
  std::int64_t getNumKeys() override { throw not_here(); }

 private:
  static std::logic_error not_here() {
    return std::logic_error("gloo asks more of the meeting than addresses");
  }

  RankPlace place_;
};

/// The descriptors of this process that are connected to another.
std::set<int> connections() {
  std::set<int> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int file = std::atoi(entry.path().filename().c_str());
    sockaddr_storage other{};
    socklen_t size = sizeof other;
    if (::getpeername(file, reinterpret_cast<sockaddr*>(&other), &size) == 0) files.insert(file);
  }
  return files;
}

class GlooRanks : public TorchRanks {
 public:
  explicit GlooRanks(const RankPlace& place) : place_(place) {
    const std::set<int> before = connections();
    with_others([&] {
      const auto timeout =
          std::chrono::milliseconds(static_cast<std::int64_t>(place.timeout_seconds * 1e3));
      auto store = c10::make_intrusive<PlaceStore>(place);
      store->setTimeout(timeout);
      auto options = c10::make_intrusive<c10d::ProcessGroupGloo::Options>(timeout);
      // It listens there alone: on the loopback where all are on this machine.
      options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(place.address)};
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world, options);
    });
    for (const int file : connections()) {
      if (!before.contains(file)) to_others_.push_back(file);
    }
  }

  /// gloo takes it for the end of all others.
  void hang_up() noexcept override {
    for (const int file : to_others_) ::shutdown(file, SHUT_RDWR);
  }

  int rank() const override { return place_.rank; }
  int world() const override { return place_.world; }
  std::string engine() const override { return "gloo of LibTorch " TORCH_VERSION; }

  std::vector<std::string> gather(const std::string& mine) override {
    // Most words are short: then one exchange tells their lengths and all they say.
    std::vector<std::string> first = exchange(headed(mine), kShort);
    std::int64_t longest = 0;
    std::vector<std::int64_t> lengths;
    for (const std::string& words : first) {
      std::int64_t& length = lengths.emplace_back(0);
      std::memcpy(&length, words.data(), sizeof length);
      longest = std::max(longest, length);
    }
    const bool fits = longest <= kShort - kHead;
    std::vector<std::string> all = fits ? std::move(first) : exchange(mine, longest);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (fits) all[i].erase(0, kHead);
      all[i].resize(static_cast<std::size_t>(lengths[i]));
    }
    return all;
  }

  std::unique_ptr<PendingSum> start_sum(at::Tensor values, const Stopwatch* stopwatch) override {
    return with_others([&]() -> std::unique_ptr<PendingSum> {
      std::vector<at::Tensor> tensors{std::move(values)};
      return std::make_unique<GlooSum>(backend().allreduce(tensors), stopwatch);
    });
  }

 private:
  static constexpr std::int64_t kHead = sizeof(std::int64_t);
  static constexpr std::int64_t kShort = 256;

  c10d::Backend& backend() { return *group_; }

  static std::string headed(const std::string& words) {
    const auto length = static_cast<std::int64_t>(words.size());
    std::string bytes(kHead, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + words.substr(0, kShort - kHead);
  }

  /// The first `size` bytes that each rank has, filled up with zeros.
  std::vector<std::string> exchange(const std::string& mine, std::int64_t size) {
    at::Tensor input = at::zeros({size}, at::kByte);
    std::memcpy(input.mutable_data_ptr(), mine.data(),
                std::min(mine.size(), static_cast<std::size_t>(size)));
    std::vector<at::Tensor> inputs{input};
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int i = 0; i < place_.world; ++i) outputs[0].push_back(at::empty_like(input));
    with_others([&] { return backend().allgather(outputs, inputs)->wait(); });
    std::vector<std::string> all;
    for (const at::Tensor& theirs : outputs[0]) {
      all.emplace_back(static_cast<const char*>(theirs.const_data_ptr()),
                       static_cast<std::size_t>(size));
    }
    return all;
  }

  RankPlace place_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_{};
  std::vector<int> to_others_{};  ///< descriptors of its connections, which it keeps to the end
};

const RegisterRankEngine registered([](const RankPlace& place) {
  return std::make_unique<GlooRanks>(place);
});

}  // namespace
}  // namespace harness::workloads
