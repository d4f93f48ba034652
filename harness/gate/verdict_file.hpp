// The verdict of a campaign, kept beside what was measured.
#pragma once

#include <filesystem>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// Its name in the campaign's folder.
inline constexpr const char* kVerdictFile = "verdict.jsonl";

/// A file in its place that is none.
class DamagedVerdict : public Error {
 public:
  using Error::Error;
};

/// Writes it, one line, over what is there. Throws Error.
void write_verdict(const std::filesystem::path& folder, const GateReport& report);

/// The same, but a full disk takes no verdict away: then a note in the report says so.
void keep_verdict(const std::filesystem::path& folder, GateReport& report);

/// A campaign that goes on has none.
void forget_verdict(const std::filesystem::path& folder);

/// What write_verdict() wrote; nothing where the folder has none: the campaign did not come to its
/// end. Throws DamagedVerdict.
std::optional<GateReport> read_verdict(const std::filesystem::path& folder);

}  // namespace harness
