#include "harness/gate/plan_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kName = "plan.jsonl";
constexpr std::size_t kLargestFile = 1 << 20;
constexpr std::size_t kMostClusters = 1'000'000;
constexpr std::size_t kMostNights = 1000;

struct NoPlan {};

/// A whole number up to kMostClusters.
std::size_t count_from(const json& value) {
  if (!value.is_number_unsigned() || value.get<std::size_t>() > kMostClusters) throw NoPlan();
  return value.get<std::size_t>();
}

Night night_from(const json& object) {
  Night night{count_from(object.at("clusters")), std::nullopt};
  if (object.contains("ended")) night.ended = count_from(object.at("ended"));
  if (night.ended.value_or(0) > night.clusters) throw NoPlan();
  return night;
}

std::optional<double> budget_from(const json& document, const char* key) {
  if (!document.contains(key)) return std::nullopt;
  const double seconds = document.at(key);
  if (!(seconds >= 0) || !std::isfinite(seconds)) throw NoPlan();
  return seconds;
}

json to_json(const AskedCommand& command) {
  json object = {{"command", command.text}};
  if (command.call) {
    object["starts"] = command.call->command;
    object["arguments"] = command.call->arguments;
  }
  return object;
}

/// Text alone is what files of before commands were asked have.
AskedCommand command_from(const json& value) {
  if (value.is_string()) return {value, std::nullopt};
  AskedCommand command{value.at("command"), std::nullopt};
  if (value.contains("starts"))
    command.call = HarnessCall{value.at("starts"), value.at("arguments")};
  return command;
}

AskedCommand command_from(const json& document, const char* key) {
  return document.contains(key) ? command_from(document.at(key)) : AskedCommand{};
}

/// A task's name is that of a folder, too.
std::vector<SuiteTaskCommands> tasks_from(const json& list) {
  std::vector<SuiteTaskCommands> tasks;
  for (const json& one : list) {
    tasks.push_back({one.at("workload"), one.at("id"), command_from(one.at("baseline")),
                     command_from(one.at("candidate"))});
    const std::string& name = tasks.back().workload;
    if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos)
      throw NoPlan();
  }
  return tasks;
}

json to_json(const SuiteTaskCommands& task) {
  return {{"workload", task.workload},
          {"id", task.id},
          {"baseline", to_json(task.baseline)},
          {"candidate", to_json(task.candidate)}};
}

json to_json(const Night& night) {
  json object = {{"clusters", night.clusters}};
  if (night.ended) object["ended"] = *night.ended;
  return object;
}

PlannedCampaign campaign_from(const json& document) {
  PlannedCampaign campaign;
  campaign.id = document.at("campaign");
  campaign.baseline = command_from(document, "baseline");
  campaign.candidate = command_from(document, "candidate");
  campaign.anchor = command_from(document, "anchor");
  campaign.asked = document.contains("baseline") && document.at("baseline").is_object();
  campaign.whole = document.value("whole", false);
  campaign.trained_baseline = command_from(document, "trained_baseline");
  campaign.trained_candidate = command_from(document, "trained_candidate");
  campaign.tasks = tasks_from(document.value("tasks", json::array()));
  campaign.rules_sha256 = document.value("rules_sha256", "");
  campaign.pause_seconds = document.value("pause_seconds", 0.0);
  campaign.rounds = static_cast<std::int64_t>(count_from(document.value("rounds", json(0U))));
  campaign.most_clusters = count_from(document.value("most_clusters", json(0U)));
  campaign.plan.pooled = document.value("pooled", false);
  campaign.budget_seconds = budget_from(document, "budget_seconds");
  campaign.convergence_budget_seconds = budget_from(document, "convergence_budget_seconds");
  if (!(campaign.pause_seconds >= 0) || !std::isfinite(campaign.pause_seconds)) throw NoPlan();
  if (!document.contains("nights")) {  // a file of before campaigns had several
    campaign.plan.nights = {night_from(document)};
    return campaign;
  }
  const json& nights = document.at("nights");
  if (!nights.is_array() || nights.size() > kMostNights) throw NoPlan();
  for (const json& night : nights) campaign.plan.nights.push_back(night_from(night));
  if (campaign.plan.nights.size() > 1 && !campaign.plan.pooled) throw NoPlan();
  return campaign;
}

}  // namespace

void write_plan(const fs::path& folder, const PlannedCampaign& campaign) {
  json nights = json::array();
  for (const Night& night : campaign.plan.nights) nights.push_back(to_json(night));
  json tasks = json::array();
  for (const SuiteTaskCommands& task : campaign.tasks) tasks.push_back(to_json(task));
  json line = {{"campaign", campaign.id},
               {"baseline", to_json(campaign.baseline)},
               {"candidate", to_json(campaign.candidate)},
               {"anchor", to_json(campaign.anchor)},
               {"whole", campaign.whole},
               {"trained_baseline", to_json(campaign.trained_baseline)},
               {"trained_candidate", to_json(campaign.trained_candidate)},
               {"tasks", tasks},
               {"rules_sha256", campaign.rules_sha256},
               {"pause_seconds", campaign.pause_seconds},
               {"rounds", campaign.rounds},
               {"most_clusters", campaign.most_clusters},
               {"pooled", campaign.plan.pooled},
               {"nights", nights}};
  if (campaign.budget_seconds) line["budget_seconds"] = *campaign.budget_seconds;
  if (campaign.convergence_budget_seconds) {
    line["convergence_budget_seconds"] = *campaign.convergence_budget_seconds;
  }
  write_file_atomically(folder / kName,
                        line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::optional<PlannedCampaign> read_plan(const fs::path& folder) {
  const fs::path path = folder / kName;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const json document = parse_json(read_file(path, kLargestFile), path.string());
  const auto refuse = [&]() {
    throw Error(printable(path.string()), "is not the plan of a campaign",
                "take it away: the pairs there then count as planned");
  };
  try {
    return campaign_from(document);
  } catch (const NoPlan&) {
    refuse();
  } catch (const json::exception&) {
    refuse();
  }
  return std::nullopt;
}

std::string line_to_go_on(const fs::path& folder) {
  std::error_code ignored;
  fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  fs::path above = whole;
  for (int i = 0; i < 2; ++i) {  // OUT/steps/TASK
    above = above.parent_path();
    if (fs::exists(above / kName, ignored)) whole = above;
  }
  return fmt::format("{} gate --resume {}", started_as(), pasted_word(whole.string()));
}

}  // namespace harness
