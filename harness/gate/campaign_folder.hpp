// The folder of a campaign: made, locked, and gone on in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/line_file.hpp"
#include "harness/gate/campaign.hpp"
#include "harness/lockstep/cluster.hpp"

namespace harness {

/// Below it: what the commands said when they were asked what they are, before the campaign.
inline constexpr const char* kAskedFolder = "asked";

/// Removes what a first try left but what was asked before it. The folder itself may be one that
/// the user made.
void begin_anew(const std::filesystem::path& path);

/// No other gate works in the folder while this object lives. Throws Error where one does, or the
/// folder is not there.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int lock_ = -1;
};

/// The folder of a new campaign with an empty kAskedFolder in it, made and locked. Throws Error
/// where it holds anything but what an earlier try asked before it failed.
class AskingFolder {
 public:
  explicit AskingFolder(const std::filesystem::path& path);

 private:
  FolderLock lock_;
};

/// Makes the folder, or takes that of a campaign that goes on, and locks it. Throws Error where a
/// new one holds anything but what was asked.
class CampaignFolder {
 public:
  CampaignFolder(const std::filesystem::path& path, bool resumed);

 private:
  FolderLock lock_;
};

/// A folder for the results of each side. Behind the plan: a campaign that is refused leaves none.
void make_side_folders(const std::filesystem::path& out, const std::vector<std::string>& sides);

/// A cluster as campaign.jsonl has it.
struct KeptCluster {
  ClusterRecord record{};
  std::vector<std::string> folders{};  ///< of the sides' results, below the campaign's folder
};

/// The member of the line that says why the anchor was left out from there on.
inline constexpr const char* kAnchorLeftOut = "anchor_left_out";

struct KeptClusters {
  std::vector<KeptCluster> clusters{};  ///< failed ones included
  std::string anchor_left_out{};        ///< why; empty: it was not, or there was none
  WrittenLines lines{};                 ///< with their ends, to go on behind
  std::string unended{};                ///< a line behind them that lacks its end alone
  bool cut_off = false;                 ///< what is behind them is half a line
};

std::string kept_line(const KeptCluster& cluster);
/// Of a campaign.jsonl; what a kill or a full disk left of its last line may be half of it. Throws
/// Error.
KeptClusters read_clusters(const std::filesystem::path& file);

/// The times of commands, pair by pair.
struct KeptTimes {
  std::map<std::int64_t, double> baseline{};  ///< of whole pairs, seconds
  std::map<std::int64_t, double> candidate{};
  WrittenLines lines{};  ///< theirs
};

/// Of a times.jsonl. Throws Error.
KeptTimes read_times(const std::filesystem::path& file);

/// What a stop left of a pair is nobody's measurement, but it is kept: below OUT/stopped-N.
void put_aside(const std::filesystem::path& out, std::int64_t pair);

/// Throws Error for a `harness run` or `harness suite` with an --out: each gets its own.
void refuse_own_folders(const CampaignOptions& options);

/// The plan of a new campaign, without nights; for one that goes on that in its folder. Throws
/// Error where the rules are others now.
PlannedCampaign begin_plan(const CampaignOptions& options, bool whole);

/// A campaign that goes on is what its plan says. Throws Error where the `pairs` of `options` were
/// given and are others; a pooled campaign's next night may have others. Precondition: it goes on.
void go_on_by_plan(CampaignOptions& options, bool pairs);

}  // namespace harness
