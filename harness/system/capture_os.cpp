#include "harness/system/capture_os.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/system/build_info.hpp"
#include "harness/system/capture.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace harness {
namespace {

/// What says that we are in a container, and which kind.
struct Clue {
  const char* path;
  const char* kind;
};

constexpr Clue kContainerFiles[] = {{"/.dockerenv", "docker"},
                                    {"/run/.containerenv", "podman"},
                                    {"/run/host/container-manager", "systemd-nspawn"}};
constexpr Clue kContainerGroups[] = {{"kubepods", "kubernetes"},
                                     {"docker", "docker"},
                                     {"containerd", "containerd"},
                                     {"libpod", "podman"},
                                     {"lxc", "lxc"}};

void capture_container(const SystemRoot& root, Facts& facts) {
  const auto found = [&](const std::string& kind, const std::string& how) {
    facts.set("os.container", kind);
    facts.set("os.container_detected_by", how);
  };
  for (const Clue& clue : kContainerFiles) {
    if (root.exists(clue.path)) return found(clue.kind, clue.path);
  }
  const Reading systemd = root.line("/run/systemd/container");
  if (systemd.text) return found(*systemd.text, "/run/systemd/container");
  const Reading groups = root.raw("/proc/1/cgroup", std::size_t{1} << 16);
  const Reading mounts = root.raw("/proc/self/mountinfo", std::size_t{1} << 20);
  for (const Clue& clue : kContainerGroups) {
    if (groups.text && groups.text->find(clue.path) != std::string::npos) {
      return found(clue.kind, "/proc/1/cgroup");
    }
  }
  if (mounts.text) {
    // mountinfo: id parent major:minor root mount-point options ... - type source options
    for (const std::string& line : split(*mounts.text, '\n')) {
      const auto fields = split(line, ' ');
      if (fields.size() > 4 && fields[4] == "/" && line.find(" - overlay ") != std::string::npos) {
        return found("unknown", "an overlay root in /proc/self/mountinfo");
      }
    }
  }
  if (!groups.text && !mounts.text) {
    facts.miss("os.container", groups.reason);
    facts.miss("os.container_detected_by", groups.reason);
    return;
  }
  facts.set("os.container", "none");
  facts.set("os.container_detected_by", "no sign of one");
}

#if defined(__x86_64__)
/// The hypervisor's signature in CPUID leaf 0x40000000, e.g. "KVMKVMKVM"; empty without one.
std::string cpuid_hypervisor() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1U << 31)) == 0) return {};
  __cpuid(0x40000000, a, b, c, d);
  char name[13] = {};
  std::memcpy(name, &b, 4);
  std::memcpy(name + 4, &c, 4);
  std::memcpy(name + 8, &d, 4);
  return clean_text(name);
}
#endif

void capture_virtualisation(const SystemRoot& root, Facts& facts) {
#if defined(__x86_64__)
  if (root.is_real()) {
    const std::string name = cpuid_hypervisor();
    facts.set("os.virtualisation", name.empty() ? "none" : name);
    return;
  }
#endif
  const Reading type = root.line("/sys/hypervisor/type");
  const Reading vendor = root.line("/sys/class/dmi/id/sys_vendor");
  const Reading cpuinfo = root.raw("/proc/cpuinfo", std::size_t{32} << 20);
  if (type.text) {
    facts.set("os.virtualisation", *type.text);
  } else if (cpuinfo.text && cpuinfo.text->find(" hypervisor") != std::string::npos) {
    facts.set("os.virtualisation", vendor.text.value_or("unnamed hypervisor"));
  } else if (cpuinfo.text && keyed_value(*cpuinfo.text, "vendor_id")) {
    facts.set("os.virtualisation", "none");
  } else {
    facts.miss("os.virtualisation", "nothing under /sys tells");
  }
}

void capture_mitigations(const SystemRoot& root, Facts& facts) {
  nlohmann::json mitigated = nlohmann::json::array();
  nlohmann::json vulnerable = nlohmann::json::array();
  const std::string folder = "/sys/devices/system/cpu/vulnerabilities";
  for (const std::string& name : root.list(folder)) {
    const Reading state = root.line(folder + "/" + name);
    if (!state.text || mitigated.size() + vulnerable.size() >= 100) continue;
    if (state.text->starts_with("Mitigation")) mitigated.push_back(clean_text(name));
    if (state.text->starts_with("Vulnerable")) vulnerable.push_back(clean_text(name));
  }
  if (!root.exists(folder)) {
    facts.miss("os.mitigations", folder + ": not there");
    return;
  }
  facts.set("os.mitigations", {{"mitigated", mitigated}, {"vulnerable", vulnerable}});
}

/// Compiler flags may name folders of the person who built this; only their last part is kept.
std::string without_folders(const std::string& flags) {
  std::vector<std::string> words;
  for (std::string word : split(flags, ' ')) {
    if (word.empty()) continue;
    const std::size_t first = word.find('/');
    if (first != std::string::npos) word = word.substr(0, first) + "<path>";
    words.push_back(word);
  }
  return clean_text(join(words, " "));
}

/// File name of the library that malloc comes from: a preloaded allocator changes every number.
std::optional<std::string> malloc_library() {
  Dl_info info{};
  void* const symbol = ::dlsym(RTLD_DEFAULT, "malloc");
  if (symbol == nullptr || ::dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) {
    return std::nullopt;
  }
  return clean_text(std::filesystem::path(info.dli_fname).filename().string());
}

/// Of this program's own file: two builds may be alike in all that is written down of them.
std::optional<std::string> program_sha256() {
  try {
    return sha256_of_file("/proc/self/exe");
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void capture_os(const SystemRoot& root, Facts& facts) {
  const Reading release = root.raw("/etc/os-release", std::size_t{1} << 16);
  std::optional<std::string> name;
  if (release.text) {
    for (const std::string& line : split(*release.text, '\n')) {
      if (!line.starts_with("PRETTY_NAME=")) continue;
      std::string value = line.substr(12);
      value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
      name = clean_text(trim(value));
    }
  }
  facts.put("os.name", name, release.text ? "/etc/os-release: no PRETTY_NAME" : release.reason);
  facts.put("os.kernel", root.line("/proc/sys/kernel/osrelease"));
  struct utsname machine {};
  facts.set("os.architecture", ::uname(&machine) == 0 ? clean_text(machine.machine) : "unknown");
  capture_container(root, facts);
  capture_virtualisation(root, facts);
  capture_mitigations(root, facts);
}

void capture_build(Facts& facts) {
  facts.set("build.compiler", fmt::format("{} {}", kBuildCompiler, kBuildCompilerVersion));
  facts.set("build.flags", without_folders(kBuildFlags));
  facts.set("build.type", kBuildType);
  facts.set("build.sanitizers", kBuildSanitizers);
#ifdef NDEBUG
  facts.set("build.assertions", false);
#else
  facts.set("build.assertions", true);
#endif
  facts.put("build.sha256", program_sha256(), "the program's file cannot be read");
  facts.set("build.libc", fmt::format("glibc {}", ::gnu_get_libc_version()));
  facts.put("build.malloc", malloc_library(), "dladdr does not know where malloc comes from");
  // glibc's own knobs: malloc and huge pages are set through it.
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  facts.put("build.glibc_tunables",
            tunables == nullptr ? std::nullopt : std::optional(clean_text(tunables)),
            "GLIBC_TUNABLES is not set");
}

}  // namespace harness
