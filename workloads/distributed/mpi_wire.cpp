// The engine "mpi": the MPI of the machine, through a plug-in that lies beside the program and is
// loaded when it is asked for (mpi/plugin.hpp).
#include <dlfcn.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/base/error.hpp"
#include "workloads/distributed/mpi/plugin.hpp"
#include "workloads/distributed/torch_ranks.hpp"
#include "workloads/distributed/wire.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint =
    "install MPI's headers (libopenmpi-dev) and build again, or leave --engine out";

std::string rank_text(int rank, int world) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(world);
}

/// Beside the program, or the test, that runs.
fs::path plugin_file() {
  return fs::read_symlink("/proc/self/exe").parent_path() / "libharness_mpi.so";
}

std::string missing() { return fs::exists(plugin_file()) ? "" : kHint; }

const HarnessMpi& load_plugin() {
  // MPI's own parts look for its symbols among those of the program.
  void* library = ::dlopen(plugin_file().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw Error("--engine mpi", ::dlerror(), kHint);
  void* function = ::dlsym(library, "harness_mpi");
  if (function == nullptr) throw Error("--engine mpi", ::dlerror(), kHint);
  return *reinterpret_cast<HarnessMpiFunction>(function)();
}

class MpiWire : public Wire {
 public:
  explicit MpiWire(const RankPlace& place)
      : mpi_(load_plugin()), timeout_seconds_(place.timeout_seconds) {
    throw_if(mpi_.open());
    if (mpi_.world() == place.world && mpi_.rank() == place.rank) return;
    const std::string theirs = rank_text(mpi_.rank(), mpi_.world());
    mpi_.hang_up();
    throw Error("--engine mpi",
                "to MPI this is " + theirs + ", not " + rank_text(place.rank, place.world),
                "start the ranks with mpirun, or leave --engine out");
  }
  ~MpiWire() override {
    // Who fails cannot wait for the others to leave as well: they wait for it.
    if (std::uncaught_exceptions() > 0) mpi_.hang_up();
  }

  std::string engine() const override { return mpi_.version(); }
  void exchange(const void* mine, void* all, std::int64_t bytes) override {
    throw_if(mpi_.exchange(mine, all, bytes, timeout_seconds_));
  }
  void hang_up() noexcept override { mpi_.hang_up(); }

 private:
  static void throw_if(const char* problem) {
    if (problem != nullptr) throw LostRank(problem);
  }

  const HarnessMpi& mpi_;
  double timeout_seconds_;
};

const RegisterRankEngine registered("mpi", {[](const RankPlace& place) {
                                              return std::make_unique<TorchRanks>(
                                                  place, std::make_unique<MpiWire>(place));
                                            },
                                            missing});

}  // namespace
}  // namespace harness::workloads
