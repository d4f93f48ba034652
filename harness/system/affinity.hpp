// Which CPUs this process may use, and choosing among them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/system/system_root.hpp"

namespace harness {

/// CPUs of `--cpus`, "0-3,8": numbers and rising ranges, no CPU twice, none over 8191; sorted.
/// Throws Error for anything else.
std::vector<int> parse_cpu_list(std::string_view text);

/// The inverse, "0-3,8".
std::string format_cpu_list(const std::vector<int>& cpus);

/// CPUs the calling thread may run on, sorted. Throws Error when the kernel will not tell.
std::vector<int> allowed_cpus();

/// Binds the calling thread, and all threads it starts from then on, to `cpus`; so call it before
/// any others start. Throws Error naming the CPUs that do not exist, are offline or not ours to
/// use; the binding is then as it was.
void apply_affinity(const std::vector<int>& cpus);

/// What a run can count on.
struct UsableCpus {
  std::vector<int> cpus{};        ///< the affinity mask
  std::optional<double> quota{};  ///< of the control group, in CPUs
  int count = 1;                  ///< threads that can run at once: mask and whole quota
  int physical_cores = 1;         ///< among them; SMT siblings count once
};

/// `cpus` in so many parts, of one size but for one CPU; CPUs of one core, and cores of one socket,
/// side by side. With fewer CPUs than parts they are shared by turns.
std::vector<std::vector<int>> share_cpus(const std::vector<int>& cpus, int parts,
                                         const SystemRoot& root = SystemRoot());

UsableCpus usable_cpus(const SystemRoot& root = SystemRoot());

}  // namespace harness
