#include "harness/measure/kept_weights.hpp"

#include <fmt/format.h>

#include <exception>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {

namespace fs = std::filesystem;

void keep_weights(const Workload& workload, const RunPlan& plan, Result& result,
                  const fs::path& file) {
  const auto* const trains = dynamic_cast<const Trains*>(&workload);
  if (trains == nullptr || plan.effective.value("keep_weights", "no") != "yes") return;
  const fs::path part = file.string() + ".part";
  try {
    trains->write_weights(part, {{"workload", plan.rules.workload},
                                 {"rules", plan.rules.version},
                                 {"result", result.identity.uuid}});
    fs::rename(part, file);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(part, ignored);
    result.status.recommendations.push_back(
        fmt::format("the weights were not kept: {}", printable(reason(error))));
  }
}

}  // namespace harness
