#include "harness/system/affinity.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/system/cgroup.hpp"
#include "harness/system/topology.hpp"

namespace harness {
namespace {

constexpr int kMaxCpus = 8192;
constexpr std::size_t kMaxListLength = 65536;

/// A cpu_set_t large enough for kMaxCpus; the fixed one ends at 1024.
class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(kMaxCpus)) {
    if (set_ == nullptr) throw std::bad_alloc();
    CPU_ZERO_S(bytes(), set_);
  }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;

  static std::size_t bytes() { return CPU_ALLOC_SIZE(kMaxCpus); }
  cpu_set_t* get() { return set_; }
  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes(), set_); }
  bool has(int cpu) const { return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes(), set_); }

 private:
  cpu_set_t* set_;
};

bool bind_to(const std::vector<int>& cpus) {
  CpuSet set;
  for (const int cpu : cpus) set.add(cpu);
  return ::sched_setaffinity(0, CpuSet::bytes(), set.get()) == 0;
}

Error bad_list(std::string_view text, const std::string& why) {
  return Error("--cpus " + printable(text, 60), why, "write numbers and ranges, as in 0-3,8");
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  if (trim(text).empty()) throw bad_list(text, "the list is empty");
  if (text.size() > kMaxListLength) throw bad_list(text, "the list is too long");
  std::vector<int> cpus;
  std::vector<bool> named(kMaxCpus, false);
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_clamped(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_clamped(part.substr(dash + 1));
    const std::string shown = "'" + printable(part, 20) + "'";
    if (!first || !last || *first < 0 || *last < 0) {
      throw bad_list(text, shown + " is neither a CPU number nor a range");
    }
    if (*last < *first) throw bad_list(text, "the range " + shown + " runs backwards");
    if (*last >= kMaxCpus) {
      throw bad_list(text, fmt::format("{} goes beyond CPU {}", shown, kMaxCpus - 1));
    }
    for (int cpu = static_cast<int>(*first); cpu <= static_cast<int>(*last); ++cpu) {
      if (named[static_cast<std::size_t>(cpu)]) {
        throw bad_list(text, fmt::format("CPU {} is named twice", cpu));
      }
      named[static_cast<std::size_t>(cpu)] = true;
      cpus.push_back(cpu);
    }
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    parts.push_back(end - i == 1 ? fmt::format("{}", cpus[i])
                                 : fmt::format("{}-{}", cpus[i], cpus[end - 1]));
    i = end;
  }
  return join(parts, ",");
}

std::vector<int> allowed_cpus() {
  CpuSet set;
  if (::sched_getaffinity(0, CpuSet::bytes(), set.get()) != 0) {
    throw Error("CPU affinity", std::strerror(errno));
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (set.has(cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

void apply_affinity(const std::vector<int>& cpus) {
  const std::vector<int> before = allowed_cpus();
  const std::string what = "--cpus " + printable(format_cpu_list(cpus), 60);
  const bool in_range = !cpus.empty() && std::all_of(cpus.begin(), cpus.end(), [](int cpu) {
    return cpu >= 0 && cpu < kMaxCpus;
  });
  if (!in_range) throw Error(what, "no such CPUs", "usable here: " + format_cpu_list(before));
  // The kernel drops CPUs it does not have without a word, so ask what became of the request. It
  // also allows to widen an earlier, narrower mask, so the mask before is no measure of what
  // exists.
  const bool bound = bind_to(cpus);
  const int error = errno;
  if (bound) {
    const std::vector<int> now = allowed_cpus();
    if (now == cpus) return;
    std::vector<int> refused;
    std::set_difference(cpus.begin(), cpus.end(), now.begin(), now.end(),
                        std::back_inserter(refused));
    bind_to(before);
    throw Error(what,
                fmt::format("CPU {} does not exist or may not be used here",
                            printable(format_cpu_list(refused), 60)),
                "usable here: " + format_cpu_list(before));
  }
  const std::string why = error == EINVAL ? "none of these CPUs exists here" : std::strerror(error);
  throw Error(what, why, "usable here: " + format_cpu_list(before));
}

std::vector<std::vector<int>> share_cpus(const std::vector<int>& cpus, int parts,
                                         const SystemRoot& root) {
  const Topology topology = read_topology(root);
  const auto place = [&](int cpu) {
    const auto known = topology.cpus.find(cpu);
    return known == topology.cpus.end() ? CpuPlace{cpu, 0} : known->second;
  };
  std::vector<int> ordered = cpus;
  std::sort(ordered.begin(), ordered.end(), [&](int a, int b) {
    const CpuPlace x = place(a);
    const CpuPlace y = place(b);
    return std::tie(x.socket, x.core, a) < std::tie(y.socket, y.core, b);
  });
  const std::size_t count = ordered.size();
  const auto wanted = static_cast<std::size_t>(parts);
  std::vector<std::vector<int>> shares(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    if (wanted > count) {
      shares[i] = {ordered[i % count]};
      continue;
    }
    shares[i].assign(ordered.begin() + static_cast<std::ptrdiff_t>(i * count / wanted),
                     ordered.begin() + static_cast<std::ptrdiff_t>((i + 1) * count / wanted));
    std::sort(shares[i].begin(), shares[i].end());
  }
  return shares;
}

UsableCpus usable_cpus(const SystemRoot& root) {
  UsableCpus usable;
  usable.cpus = allowed_cpus();
  usable.quota = read_cgroup(root).cpu_quota;
  usable.count = static_cast<int>(usable.cpus.size());
  if (usable.quota) {
    // A thread beyond the whole CPUs of the quota would only bring all of them to a halt sooner.
    const double whole = std::max(1.0, std::floor(*usable.quota));
    usable.count = static_cast<int>(std::min<double>(usable.count, whole));
  }
  usable.physical_cores = std::min(usable.count, count_cores(read_topology(root), usable.cpus));
  return usable;
}

}  // namespace harness
