#include "harness/gate/verdict_file.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/report_json.hpp"
#include "harness/lockstep/cluster_json.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

/// Ten thousand pairs of a dozen metrics take 2.4 MB.
constexpr std::size_t kLargestFile = std::size_t{16} << 20;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw DamagedVerdict(printable(path.string()),
                       "is not the verdict of a campaign: " + printable(why, 200),
                       "to make it again: " + line_to_go_on(path.parent_path()));
}

}  // namespace

void write_verdict(const fs::path& folder, const GateReport& report) {
  write_file_atomically(folder / kVerdictFile, line_of(to_json(report, false)) + "\n");
}

void keep_verdict(const fs::path& folder, GateReport& report) {
  try {
    write_verdict(folder, report);
  } catch (const Error& error) {
    report.notes.push_back(std::string("the verdict could not be kept: ") + error.what());
  }
}

void forget_verdict(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::remove(folder / kVerdictFile, ignored);
}

std::optional<GateReport> read_verdict(const fs::path& folder) {
  const fs::path path = folder / kVerdictFile;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    return gate_report_from_json(parse_json(read_file(path, kLargestFile), path.string()));
  } catch (const Error& error) {
    refuse(path, error.why());
  } catch (const nlohmann::json::exception& error) {
    refuse(path, error.what());
  } catch (const std::invalid_argument& error) {
    refuse(path, error.what());
  }
}

}  // namespace harness
