#include "workloads/distributed/torch_ranks.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"

namespace harness::workloads {
namespace {

constexpr std::int64_t kHead = sizeof(std::int64_t);
constexpr std::int64_t kShort = 256;

std::string headed(const std::string& words) {
  const auto length = static_cast<std::int64_t>(words.size());
  std::string bytes(kHead, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + words.substr(0, kShort - kHead);
}

}  // namespace

/// Does what it is given, one after the other.
class TorchRanks::Thread {
 public:
  Thread() : thread_([this] { work(); }) {}
  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  std::future<void> give(std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return done;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::packaged_task<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool over_ = false;
  std::thread thread_;
};

/// Each rank gets its part of the numbers from all, adds it up and gives all the sums.
class TorchRanks::Adder {
 public:
  Adder(Wire& wire, int world) : wire_(wire), world_(world) {}

  void add(float* values, std::int64_t count, SumPrecision precision) {
    if (precision == SumPrecision::kFloat && count > 0 && wire_.add_up(values, count)) return;
    const std::int64_t slice = kMostAtOnce / world_ * world_;
    for (std::int64_t begin = 0; begin < count; begin += slice) {
      const std::int64_t size = std::min(slice, count - begin);
      const std::int64_t part = (size + world_ - 1) / world_;
      if (precision == SumPrecision::kBf16) {
        add_parts<c10::BFloat16>(values + begin, size, part, true);
      } else {
        add_parts<float>(values + begin, size, part, size % world_ != 0);
      }
    }
  }

 private:
  /// `copied`: what travels is not `values` themselves.
  template <class Number>
  void add_parts(float* values, std::int64_t count, std::int64_t part, bool copied) {
    const std::int64_t bytes = part * static_cast<std::int64_t>(sizeof(Number));
    Number* theirs = room<Number>(theirs_, part * world_);
    const void* mine = values;
    if (copied) {
      Number* copy = room<Number>(mine_, part * world_);
      std::copy_n(values, count, copy);
      std::fill(copy + count, copy + part * world_, Number(0));
      mine = copy;
    }
    wire_.exchange(mine, theirs, bytes);
    sums_.resize(static_cast<std::size_t>(part));
    float* sums = sums_.data();
    std::copy_n(theirs, part, sums);
    for (int rank = 1; rank < world_; ++rank) {
      const Number* other = theirs + rank * part;
      for (std::int64_t i = 0; i < part; ++i) sums[i] += static_cast<float>(other[i]);
    }
    // The same to each.
    Number* shared = room<Number>(mine_, part * world_);
    std::copy_n(sums, part, shared);
    for (int rank = 1; rank < world_; ++rank) std::copy_n(shared, part, shared + rank * part);
    Number* all = copied ? theirs : reinterpret_cast<Number*>(values);
    wire_.exchange(shared, all, bytes);
    if (copied) std::copy_n(all, count, values);
  }

  /// Grows, and stays: pages of memory are mapped once.
  template <class Number>
  static Number* room(std::vector<float>& memory, std::int64_t count) {
    const auto needed = (static_cast<std::size_t>(count) * sizeof(Number) + 3) / sizeof(float);
    if (memory.size() < needed) memory.resize(needed);
    return reinterpret_cast<Number*>(memory.data());
  }

  // Longer sums go in slices, whose copies stay in a cache of usual size.
  static constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 21;

  Wire& wire_;
  int world_;
  std::vector<float> mine_{};
  std::vector<float> theirs_{};
  std::vector<float> sums_{};
};

TorchRanks::TorchRanks(const RankPlace& place, std::unique_ptr<Wire> wire)
    : rank_(place.rank),
      world_(place.world),
      wire_(std::move(wire)),
      adder_(std::make_unique<Adder>(*wire_, place.world)),
      thread_(std::make_unique<Thread>()) {}

TorchRanks::~TorchRanks() = default;

std::vector<std::string> TorchRanks::gather(const std::string& mine) {
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

std::vector<std::string> TorchRanks::exchange(const std::string& mine, std::int64_t size) {
  std::string part = mine;
  part.resize(static_cast<std::size_t>(size), '\0');
  std::string to_each;
  for (int rank = 0; rank < world_; ++rank) to_each += part;
  std::string all(to_each.size(), '\0');
  thread_->give([&] { wire_->exchange(to_each.data(), all.data(), size); }).get();
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size(); at += part.size()) {
    words.push_back(all.substr(at, part.size()));
  }
  return words;
}

std::unique_ptr<PendingSum> TorchRanks::start_sum(const at::Tensor& values, SumPrecision precision,
                                                  const Stopwatch* stopwatch) {
  if (values.scalar_type() != at::kFloat || !values.is_contiguous()) {
    throw std::invalid_argument("sums over ranks are of contiguous float32");
  }
  auto ended = std::make_shared<std::atomic<double>>(0);
  const double began = stopwatch == nullptr ? 0 : stopwatch->now();
  std::future<void> done = thread_->give([this, values, precision, stopwatch, ended] {
    adder_->add(values.mutable_data_ptr<float>(), values.numel(), precision);
    if (stopwatch != nullptr) ended->store(stopwatch->now());
  });
  return std::make_unique<PendingSum>(began, std::move(ended), std::move(done));
}

TorchRanks* torch_ranks(Ranks* ranks) {
  if (ranks == nullptr) return nullptr;
  auto* of_torch = dynamic_cast<TorchRanks*>(ranks);
  if (of_torch == nullptr)
    throw Error("--ranks", "the engine '" + ranks->engine() + "' adds up no tensors");
  return of_torch;
}

SumPrecision sum_precision(const WorkloadContext& context) {
  const auto chosen = context.chosen.find("gradient_sums");
  const bool bf16 = chosen != context.chosen.end() && chosen->second == "bf16";
  return bf16 ? SumPrecision::kBf16 : SumPrecision::kFloat;
}

}  // namespace harness::workloads
