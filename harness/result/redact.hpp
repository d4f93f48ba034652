// Takes out of a result what tells who measured it and where, before it is shared.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace harness {

/// What a shared file must not hold, and what stands there instead.
struct PrivateNames {
  std::vector<std::string> homes{};      ///< folders: $HOME
  std::vector<std::string> checkouts{};  ///< folders: $HARNESS
  std::vector<std::string> users{};      ///< account names: $USER
  std::vector<std::string> hosts{};      ///< machine names: $HOST
  std::vector<std::string> others{};     ///< whatever else a person names: $PRIVATE
};

/// Replaces those names in every text of a result's document, keys too; and, whatever the names,
/// homes of any account (/home/NAME, /Users/NAME, /root) and the folders of libraries outside the
/// system's own. What says itself what is measured (names of workloads, kernels, metrics, rules,
/// identifiers) keeps its words and loses only folders, or the file could not be judged any more.
/// Returns the JSON pointers of the texts that changed; for a key, that of the value under it.
/// Doing it twice changes nothing more.
std::vector<std::string> redact(nlohmann::json& document, const PrivateNames& names);

}  // namespace harness
