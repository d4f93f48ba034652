#include "harness/gate/asking.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/gate/campaign_folder.hpp"
#include "harness/gate/differences.hpp"
#include "harness/gate/lockstep_campaign.hpp"
#include "harness/gate/whole_runs.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLog = std::size_t{16} << 20;

class Asker {
 public:
  Asker(const CampaignOptions& campaign, Measuring how) : campaign_(campaign), how_(how) {}

  Asking ask(const std::string& name, const std::string& text) const {
    const fs::path files = files_of(name);
    const Variables more = {asking_variable()};
    // A peer may go on for ever, and waits for orders; what speaks is known by its first word.
    if (how_ == Measuring::kLockstep) return ask_side(text, files, more);
    return ask_command(text, files, more, most_seconds(campaign_));
  }

  /// Whether it was a `harness run` all the same, of a build that cannot be asked.
  bool is_older(const std::string& name) const {
    return read_file(files_of(name).string() + ".txt", kLongestLog).find(kNoPlace) !=
           std::string::npos;
  }

  fs::path files_of(const std::string& name) const { return campaign_.out / kAskedFolder / name; }

 private:
  const CampaignOptions& campaign_;
  Measuring how_;
};

struct AskedSide {
  std::string name{};
  Asking answer{};
  bool older = false;

  bool tells() const { return answer.command.call.has_value(); }
  std::string says() const {
    if (tells()) return "harness " + answer.command.call->command;
    return older ? "a harness from before commands were asked" : "another command";
  }
};

GateReport of_two_kinds(const CampaignOptions& campaign, const AskedSide& baseline,
                        const AskedSide& candidate) {
  GateReport report = {
      .subject = baseline.answer.command.text + " against " + candidate.answer.command.text,
      .baseline = baseline.answer.command.text,
      .candidate = candidate.answer.command.text,
      .campaign = campaign.id};
  const bool baseline_tells = baseline.tells();
  const char* silent = baseline.older ? kBaselineOlder : kBaselineSilent;
  report.forbidding.push_back(
      {baseline_tells ? kCandidateSilent : silent, baseline.says(), candidate.says()});
  report.notes.push_back(fmt::format(
      "the {} does not tell that it is a harness run or suite: build it anew{}; --lockstep, if it "
      "speaks that protocol",
      baseline_tells ? candidate.name : baseline.name,
      baseline.older ? ", or begin a new baseline with --accept-rules" : ""));
  return report;
}

void refuse_failed(const Asker& asker, const AskedSide& side) {
  const std::string log = asker.files_of(side.name).string() + ".txt";
  if (side.older) {
    throw Error(side.name, "is a harness from before commands were asked what they are",
                "build it anew, or take the gate of its version");
  }
  if (side.answer.failure.empty()) return;
  throw NeverBegan(side.name, side.answer.failure, "its output is in " + printable(log));
}

}  // namespace

std::optional<GateReport> ask_sides(CampaignOptions& campaign, Measuring how,
                                    const CampaignHooks& hooks) {
  const AskingFolder folder(campaign.out);
  const bool lockstep = how == Measuring::kLockstep;
  const Asker asker(campaign, how);
  const auto ask = [&](const char* name, AskedCommand& command) {
    AskedSide side{name, asker.ask(name, command.text)};
    side.older = asker.is_older(name);
    command = side.answer.command;
    if (!side.older) refuse_failed(asker, side);
    return side;
  };
  const AskedSide baseline = ask("baseline", campaign.baseline);
  const AskedSide candidate = ask("candidate", campaign.candidate);
  const bool peers = lockstep && !baseline.older && !candidate.older;
  if (baseline.tells() != candidate.tells() && !peers) {
    return of_two_kinds(campaign, baseline, candidate);
  }
  for (const AskedSide* side : {&baseline, &candidate}) refuse_failed(asker, *side);
  if (!baseline.tells() && !lockstep) {
    hooks.say("no harness run or suite: each command ran once, untimed, to be asked");
  }
  // It costs nobody a verdict: one that tells nothing is left out where that matters. Beside what
  // does not step it is refused before it runs.
  const bool steps = lockstep || (campaign.baseline.is_run() && campaign.candidate.is_run());
  if (steps && !campaign.anchor.text.empty()) {
    try {
      campaign.anchor = asker.ask(kAnchorName, campaign.anchor.text).command;
    } catch (const Error& error) {
      hooks.say(fmt::format("the anchor cannot be asked what it is: {}", error.what()));
    }
  }
  return std::nullopt;
}

}  // namespace harness
