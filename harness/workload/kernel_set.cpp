#include "harness/workload/kernel_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/result/schema.hpp"

namespace harness {
namespace {

void refuse_unavailable(const std::string& asked, const ImplementationInfo& item) {
  if (item.unavailable.empty()) return;
  throw Error("--kernels " + printable(asked), "cannot run on this machine: " + item.unavailable);
}

// Every operator that has the set and can run it here takes it; the result lists what each took.
void choose_set(const std::string& set, const std::vector<OperatorInfo>& operators,
                KernelSet& kernels) {
  std::vector<std::string> known = {"reference"};
  const ImplementationInfo* refused = nullptr;
  bool taken = set == "reference";
  for (const OperatorInfo& info : operators) {
    for (const ImplementationInfo& item : info.implementations) {
      if (std::find(known.begin(), known.end(), item.name) == known.end()) {
        known.push_back(item.name);
      }
      if (item.name != set) continue;
      if (item.unavailable.empty()) {
        kernels[info.name] = set;
        taken = true;
      } else {
        refused = &item;
      }
    }
  }
  choose_known("kernels", set, known);
  if (!taken && refused != nullptr) refuse_unavailable(set, *refused);
}

}  // namespace

std::string choose_known(const char* option, const std::string& value,
                         const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return value;
  throw Error(fmt::format("--{} '{}'", option, printable(value)), "unknown",
              did_you_mean(value, known));
}

KernelSet parse_kernels(const std::string& text, const std::vector<OperatorInfo>& operators) {
  KernelSet kernels;
  for (const OperatorInfo& info : operators) kernels[info.name] = "reference";
  if (text.find('=') == std::string::npos) {
    choose_set(text, operators, kernels);
    return kernels;
  }
  std::set<std::string> given;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    choose_known("kernels", name, names_of(operators));
    if (!given.insert(name).second) {
      throw Error("--kernels " + printable(text), "'" + name + "' is given more than once");
    }
    const auto& known = find_named(operators, name)->implementations;
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    kernels[name] = choose_known(("kernels " + name).c_str(), value, names_of(known));
    refuse_unavailable(part, *find_named(known, value));
  }
  return kernels;
}

std::vector<Violation> check_kernels(const KernelSet& kernels,
                                     const std::vector<OperatorInfo>& operators,
                                     const std::string& path) {
  std::vector<Violation> violations;
  for (const auto& [name, implementation] : kernels) {
    std::vector<std::string> known;
    if (const OperatorInfo* info = find_named(operators, name)) {
      known = names_of(info->implementations);
    }
    if (std::find(known.begin(), known.end(), implementation) != known.end()) continue;
    violations.push_back(
        {"kernels", path + "/" + pointer_step(name),
         known.empty() ? "an operator of the workload" : "one of " + join(known, ", "),
         printable(implementation, 64), ""});
  }
  return violations;
}

}  // namespace harness
