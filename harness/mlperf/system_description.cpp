#include "harness/mlperf/system_description.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/result/result_common.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kUnknown = "unknown";

std::string text_at(const json& system, const char* path) {
  const json::json_pointer pointer(path);
  if (!system.contains(pointer) || system.at(pointer).is_null()) return kUnknown;
  return plain_text(system.at(pointer));
}

std::string quantity_at(const json& system, const char* path, const char* unit) {
  const json::json_pointer pointer(path);
  if (!system.contains(pointer) || !system.at(pointer).is_number()) return kUnknown;
  return format_quantity(system.at(pointer).get<double>(), unit);
}

// "L1 Data 2 x 32 KiB, L3 Unified 1 x 32 MiB"
std::string caches(const json& system) {
  std::vector<std::string> texts;
  for (const json& cache : system.value("caches", json::array())) {
    texts.push_back(fmt::format("L{} {} {} x {}", text_at(cache, "/level"), text_at(cache, "/type"),
                                text_at(cache, "/instances"), quantity_at(cache, "/bytes", "B")));
  }
  return texts.empty() ? kUnknown : join(texts, ", ");
}

std::string memory_configuration(const json& system) {
  const std::size_t nodes = system.value("numa_nodes", json::array()).size();
  return nodes == 0 ? kUnknown : fmt::format("{} NUMA node{}", nodes, nodes == 1 ? "" : "s");
}

std::string clock_rate(const json& system) {
  const json::json_pointer pointer("/cpu/max_hertz");
  if (!system.contains(pointer) || !system.at(pointer).is_number()) return kUnknown;
  return fmt::format("{:.2f} GHz at most", system.at(pointer).get<double>() / 1e9);
}

std::string notes(const json& system) {
  return fmt::format("microcode {}, governor {}, SMT {}, virtualisation {}, container {}",
                     text_at(system, "/cpu/microcode"), text_at(system, "/cpu/governor"),
                     text_at(system, "/cpu/smt_active"), text_at(system, "/os/virtualisation"),
                     text_at(system, "/os/container"));
}

std::string software_stack(const json& system) {
  std::vector<std::string> texts = {fmt::format("compiler {}", text_at(system, "/build/compiler")),
                                    fmt::format("libc {}", text_at(system, "/build/libc"))};
  for (const char* name : {"onednn", "libtorch_onednn", "openmp"}) {
    const json software = system.value("software", json::object());
    if (software.contains(name)) {
      texts.push_back(fmt::format("{} {}", name, software.at(name).get<std::string>()));
    }
  }
  return join(texts, ", ");
}

}  // namespace

nlohmann::ordered_json system_description(const SystemDescriptionFacts& facts, const json& system) {
  nlohmann::ordered_json fields;
  fields["submitter"] = facts.submitter;
  fields["division"] = facts.division;
  fields["status"] = "Research, Development, or Internal (RDI)";
  fields["system_name"] = facts.system_name;
  fields["number_of_nodes"] = std::to_string(facts.nodes);
  // A number even where it could not be read: the summariser computes with it.
  const std::string sockets = text_at(system, "/cpu/sockets");
  fields["host_processors_per_node"] = parse_integer(sockets) ? sockets : "1";
  fields["host_processor_model_name"] = text_at(system, "/cpu/model_name");
  fields["host_processor_core_count"] = text_at(system, "/cpu/cores");
  fields["host_processor_vcpu_count"] = text_at(system, "/cpu/threads");
  fields["host_processor_frequency"] = clock_rate(system);
  fields["host_processor_caches"] = caches(system);
  fields["host_processor_interconnect"] = kUnknown;
  fields["host_memory_capacity"] = quantity_at(system, "/memory/total_bytes", "B");
  fields["host_storage_type"] = kUnknown;
  fields["host_storage_capacity"] = kUnknown;
  fields["host_networking"] = "none used";
  fields["host_networking_topology"] = "none used";
  fields["host_memory_configuration"] = memory_configuration(system);
  fields["accelerators_per_node"] = "0";
  for (const char* name : {"accelerator_model_name", "accelerator_host_interconnect",
                           "accelerator_frequency", "accelerator_on-chip_memories",
                           "accelerator_memory_configuration", "accelerator_memory_capacity",
                           "accelerator_interconnect", "accelerator_interconnect_topology"}) {
    fields[name] = "";
  }
  fields["cooling"] = kUnknown;
  fields["hw_notes"] = notes(system);
  fields["framework"] = facts.framework;
  fields["other_software_stack"] = software_stack(system);
  fields["operating_system"] =
      fmt::format("{}, kernel {}", text_at(system, "/os/name"), text_at(system, "/os/kernel"));
  fields["sw_notes"] = facts.software_notes;
  return fields;
}

nlohmann::ordered_json inference_system_description(const SystemDescriptionFacts& facts,
                                                    const json& system) {
  constexpr const char* kNone = "none";
  nlohmann::ordered_json fields = system_description(facts, system);
  for (auto& [name, value] : fields.items()) {
    if (name.starts_with("accelerator_") && value.get<std::string>().empty()) value = kNone;
  }
  fields["status"] = "rdi";
  fields["system_type"] = "edge";
  fields["system_type_detail"] = "edge server";
  fields["host_network_card_count"] = "0, none used";
  return fields;
}

std::string platform_name(const json& system) {
  const auto model = json::json_pointer("/cpu/model_name");
  const bool known = system.contains(model) && system.at(model).is_string();
  return known ? system.at(model).get<std::string>() : "unknown";
}

std::string submitter_name() {
  const char* name = std::getenv("HARNESS_SUBMITTER");
  const bool given = name != nullptr && *name != '\0';
  return given ? printable(name, 100) : "unaffiliated";
}

std::string folder_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "system" : name.substr(0, 64);
}

}  // namespace harness
