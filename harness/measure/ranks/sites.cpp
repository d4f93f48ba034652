#include "harness/measure/ranks/sites.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// The same for all processes of a machine, those in containers included, until it starts anew.
std::string machine_here() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

json site_here(const std::vector<int>& cpus) {
  const UsableCpus usable = usable_cpus();
  const json system = capture_system();
  return {{"machine", machine_here()},
          {"cpus", cpus.empty() ? usable.cpus : cpus},
          {"cores", cpus.empty() ? std::min(usable.physical_cores, usable.count)
                                 : static_cast<int>(cpus.size())},
          {"cpu_model", system.value("/cpu/model_name"_json_pointer, std::string())}};
}

std::vector<RankSite> sites_of(const std::vector<json>& said) {
  std::map<std::string, int> nodes;
  std::map<std::string, int> ranks;
  std::map<std::string, int> parts;
  // Who bound its ranks to CPUs of their own has dealt them out already.
  const auto share_of = [](const json& one) {
    return one.at("machine").dump() + one.at("cpus").dump();
  };
  std::vector<RankSite> sites;
  for (const json& one : said) {
    RankSite& site = sites.emplace_back();
    site.node = nodes.try_emplace(one.at("machine"), static_cast<int>(nodes.size())).first->second;
    site.cpu_model = printable(one.at("cpu_model").get<std::string>());
    site.part = parts[share_of(one)]++;
    ++ranks[one.at("machine")];
  }
  for (std::size_t i = 0; i < said.size(); ++i) {
    sites[i].ranks_here = ranks[said[i].at("machine")];
    sites[i].parts = parts[share_of(said[i])];
  }
  return sites;
}

int common_threads(const std::vector<json>& said, const std::vector<RankSite>& sites) {
  int least = said.front().at("cores");
  for (std::size_t i = 0; i < said.size(); ++i) {
    least = std::min(least, said[i].at("cores").get<int>() / sites[i].parts);
  }
  return std::max(1, least);
}

std::vector<int> cpus_of(const RankSite& site, const std::vector<int>& cpus) {
  return share_cpus(cpus, site.parts).at(static_cast<std::size_t>(site.part));
}

}  // namespace harness
