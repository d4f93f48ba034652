#include "harness/measure/identity.hpp"

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"

namespace harness {

std::string new_uuid() { return to_string(boost::uuids::random_generator()()); }

Identity make_identity(const SeriesPosition& position,
                       const std::vector<std::string>& command_line) {
  Identity identity;
  identity.uuid = new_uuid();
  identity.series_id = position.series_id;
  identity.run_index = position.index;
  identity.run_count = position.count;
  identity.started_at = utc_now();
  identity.harness_version = version().version;
  identity.git_commit = version().git_commit;
  identity.git_dirty = version().git_dirty;
  identity.command_line = command_line;
  return identity;
}

RulesReference refer_to(const Rules& rules, const std::string& tier,
                        const std::vector<Departure>& departures) {
  return {rules.workload, rules.file, rules.version, rules.sha256, tier, "", departures, false};
}

}  // namespace harness
