#include "harness/result/result_common.hpp"

#include <algorithm>

#include "harness/base/text.hpp"

namespace harness {

bool missed_target(const Status& status) {
  return status.state == RunState::kAborted &&
         std::any_of(status.violations.begin(), status.violations.end(),
                     [](const Violation& violation) { return violation.rule == kConvergedRule; });
}

bool was_stopped(const Status& status) {
  return status.state == RunState::kAborted && !missed_target(status);
}

std::string plain_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string text_member(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string setting_text(const Settings& settings, const char* key) {
  const auto found = settings.effective.find(key);
  if (found == settings.effective.end() || found->is_null()) return "-";
  return printable(plain_text(*found), 60);
}

std::string kernels_text(const KernelSet& kernels) {
  if (kernels.empty()) return "none";
  std::map<std::string, std::size_t> users;
  for (const auto& [name, implementation] : kernels) ++users[implementation];
  const auto most = std::max_element(
      users.begin(), users.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> others;
  for (const auto& [name, implementation] : kernels) {
    if (implementation != most->first) others.push_back(name + "=" + implementation);
  }
  if (others.empty()) return printable(most->first, 40);
  return printable(most->first + " except " + join(others, ","), 120);
}

}  // namespace harness
