#include "harness/gate/campaign_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/cluster_json.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = std::size_t{512} << 20;
constexpr std::size_t kLargestTimes = std::size_t{64} << 20;
constexpr const char* kFolders = "folders";

std::string option_of(const fs::path& path) { return "--out " + printable(path.string()); }

void refuse_results_in(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().filename() == kAskedFolder) continue;
    throw Error(option_of(path), "the folder is not empty",
                "campaigns are never mixed: choose another, or go on with one: --resume DIR");
  }
}

const fs::path& made(const fs::path& path) {
  make_writable_folder(path);
  return path;
}

void take_time(const json& line, const fs::path& file, KeptTimes& kept) {
  try {
    auto& side = line.at("side") == "baseline" ? kept.baseline : kept.candidate;
    const double seconds = line.at("seconds");
    if (seconds > 0 && line.at("pair") == side.size() + 1) {
      side.emplace(line.at("pair"), seconds);
      return;
    }
  } catch (const json::exception&) {  // said below
  }
  throw Error(printable(file.string()), "holds a line that is no time of a command",
              "start a new campaign");
}

void take_line(std::string_view text, const std::string& name, KeptClusters& kept) {
  const json line = parse_json(text, name);
  try {
    if (line.is_object() && line.contains(kAnchorLeftOut)) {
      kept.anchor_left_out = line.at(kAnchorLeftOut);
    }
    if (!line.is_object() || !line.contains("cluster")) return;  // what it compares, say
    kept.clusters.push_back({cluster_from(line), line.at(kFolders)});
  } catch (const ProtocolError&) {
    throw Error(printable(name), "is no cluster", "start a new campaign");
  } catch (const json::exception&) {
    throw Error(printable(name), "does not say where its results are", "start a new campaign");
  }
}

}  // namespace

void begin_anew(const fs::path& path) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path, failed)) {
    if (entry.path().filename() != kAskedFolder) fs::remove_all(entry.path(), failed);
  }
}

FolderLock::FolderLock(const fs::path& path)
    : lock_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (lock_ < 0) throw Error(option_of(path), std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(lock_);
  throw Error(option_of(path), "another gate is at work in this folder",
              "wait for its end or choose another");
}

FolderLock::~FolderLock() { ::close(lock_); }

AskingFolder::AskingFolder(const fs::path& path) : lock_(made(path)) {
  refuse_results_in(path);
  fs::remove_all(path / kAskedFolder);
  fs::create_directory(path / kAskedFolder);
}

CampaignFolder::CampaignFolder(const fs::path& path, bool resumed)
    : lock_(resumed ? path : made(path)) {
  if (!resumed) refuse_results_in(path);
}

void make_side_folders(const fs::path& out, const std::vector<std::string>& sides) {
  for (const std::string& side : sides) fs::create_directories(out / side);
}

std::string kept_line(const KeptCluster& cluster) {
  json line = to_json(cluster.record);
  line[kFolders] = cluster.folders;
  return line_of(line);
}

KeptClusters read_clusters(const fs::path& file) {
  const std::string text = read_file(file, kLargestFile);
  KeptClusters kept;
  std::size_t at = 0;
  std::size_t number = 1;
  const auto name = [&] { return fmt::format("{}:{}", file.string(), number); };
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
    take_line(std::string_view(text).substr(at, end - at), name(), kept);
    at = end + 1;
    ++number;
  }
  kept.unended = text.substr(at);
  try {
    if (!kept.unended.empty()) take_line(kept.unended, name(), kept);
  } catch (const Error&) {
    kept.unended.clear();
    kept.cut_off = true;
  }
  kept.lines = {at, sha256_hex(std::string_view(text).substr(0, at))};
  return kept;
}

KeptTimes read_times(const fs::path& file) {
  const std::string text = read_file(file, kLargestTimes);
  KeptTimes kept;
  std::size_t whole = 0;
  std::size_t at = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
    take_time(parse_json(std::string_view(text).substr(at, end - at), file.string()), file, kept);
    at = end + 1;
    if (kept.baseline.size() == kept.candidate.size()) whole = at;
  }
  const auto pairs =
      static_cast<std::int64_t>(std::min(kept.baseline.size(), kept.candidate.size()));
  for (auto* side : {&kept.baseline, &kept.candidate}) {
    side->erase(side->upper_bound(pairs), side->end());
  }
  kept.lines = {whole, sha256_hex(std::string_view(text).substr(0, whole))};
  return kept;
}

void put_aside(const fs::path& out, std::int64_t pair) {
  int number = 1;
  while (fs::exists(out / fmt::format("stopped-{}", number))) ++number;
  const fs::path aside = out / fmt::format("stopped-{}", number);
  for (const char* side : {"baseline", "candidate"}) {
    for (const char* ending : {"", ".txt"}) {
      const std::string name = fmt::format("{:03}{}", pair, ending);
      if (!fs::exists(out / side / name)) continue;
      fs::create_directories(aside / side);
      fs::rename(out / side / name, aside / side / name);
    }
  }
}

void refuse_own_folders(const CampaignOptions& options) {
  for (const AskedCommand* command : {&options.baseline, &options.candidate, &options.anchor}) {
    if (!command->has("--out")) continue;
    throw Error("command '" + printable(command->text, 80) + "'", "has an --out of its own",
                "leave it out: the gate gives each run a folder");
  }
}

PlannedCampaign begin_plan(const CampaignOptions& options, bool whole) {
  if (!options.resumed) {
    PlannedCampaign plan;
    plan.id = options.id;
    plan.baseline = options.baseline;
    plan.candidate = options.candidate;
    plan.anchor = options.anchor;
    plan.whole = whole;
    plan.trained_baseline = options.trained_baseline;
    plan.trained_candidate = options.trained_candidate;
    plan.tasks = options.tasks;
    plan.rules_sha256 = options.rules.sha256;
    plan.pause_seconds = options.pause_seconds;
    plan.most_clusters = options.rules.options.most_clusters;
    plan.plan.pooled = options.pool;
    plan.budget_seconds = options.budget_seconds;
    plan.convergence_budget_seconds = options.convergence_budget_seconds;
    return plan;
  }
  if (options.resumed->rules_sha256 != options.rules.sha256) {
    throw Error("--resume " + printable(options.out.string()),
                "was begun under another rules/gate.json", "start a new campaign");
  }
  return *options.resumed;
}

void go_on_by_plan(CampaignOptions& options, bool pairs) {
  const PlannedCampaign& plan = *options.resumed;
  options.id = plan.id;
  options.baseline = plan.baseline;
  options.candidate = plan.candidate;
  options.anchor = plan.anchor;
  options.trained_baseline = plan.trained_baseline;
  options.trained_candidate = plan.trained_candidate;
  options.tasks = plan.tasks;
  options.budget_seconds = plan.budget_seconds;
  options.convergence_budget_seconds = plan.convergence_budget_seconds;
  const bool another_night = plan.plan.pooled && !plan.plan.nights.empty();
  if (plan.most_clusters == 0 || another_night) return;
  std::size_t& most = options.rules.options.most_clusters;
  if (pairs && most != plan.most_clusters) {
    throw Error(fmt::format("--pairs {}", most),
                fmt::format("the plan of the campaign has {}", plan.most_clusters), "leave it out");
  }
  most = plan.most_clusters;
}

}  // namespace harness
