// The engine "gloo", which LibTorch brings along, by LibTorch's own backend for it. Only the
// headers of gloo itself are missing; what LibTorch's header wants to see of them lies in gloo/
// beside this file. The build compiles and runs this against the LibTorch at hand before it takes
// it (gloo.cmake).
#include <ATen/ATen.h>
#include <sys/socket.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "workloads/distributed/torch_ranks.hpp"
#include "workloads/distributed/wire.hpp"

namespace harness::workloads {
namespace {

/// Runs what speaks with other ranks.
template <class Work>
void with_others(const Work& work) {
  try {
    work();
  } catch (const Error&) {
    throw;  // in our own words already
  } catch (const c10::Error& error) {
    throw LostRank(error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw LostRank(error.what());
  }
}

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

/// Bytes as gloo takes them, which are not copied.
at::Tensor tensor_of(void* bytes, std::int64_t size) {
  return at::from_blob(bytes, {size}, at::TensorOptions().dtype(at::kByte));
}

class GlooWire : public Wire {
 public:
  explicit GlooWire(const RankPlace& place) : world_(place.world) {
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

  std::string engine() const override { return "gloo of LibTorch " TORCH_VERSION; }

  void exchange(const void* mine, void* all, std::int64_t bytes) override {
    if (bytes == 0) return;
    with_others([&] {
      at::Tensor input = tensor_of(const_cast<void*>(mine), bytes * world_);
      at::Tensor output = tensor_of(all, bytes * world_);
      std::vector<std::int64_t> equal;  // parts of one size
      backend().alltoall_base(output, input, equal, equal)->wait();
    });
  }

  /// gloo's ring adds up from another rank on for each part, which is the same sum for two of them.
  /// It waits for what it sends in small parts, where exchange() would flood a slow network.
  bool add_up(float* values, std::int64_t count) override {
    if (world_ != 2) return false;
    with_others([&] {
      std::vector<at::Tensor> sum = {
          at::from_blob(values, {count}, at::TensorOptions().dtype(at::kFloat))};
      backend().allreduce(sum)->wait();
    });
    return true;
  }

  /// gloo takes it for the end of all others.
  void hang_up() noexcept override {
    for (const int file : to_others_) ::shutdown(file, SHUT_RDWR);
  }

 private:
  c10d::Backend& backend() { return *group_; }

  int world_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_{};
  std::vector<int> to_others_{};  ///< descriptors of its connections, which it keeps to the end
};

const RegisterRankEngine registered("gloo", {[](const RankPlace& place) {
                                      return std::make_unique<TorchRanks>(
                                          place, std::make_unique<GlooWire>(place));
                                    }});

}  // namespace
}  // namespace harness::workloads
