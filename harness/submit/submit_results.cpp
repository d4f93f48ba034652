#include "harness/submit/submit_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/check/output_place.hpp"
#include "harness/result/canonical_json.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/submission.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Results that others are held against lie in a tree of their own within the tree.
constexpr std::string_view kReferences = "reference";

constexpr std::size_t kMostRedacted = 10'000;  // as the schema

/// A result that only has to be written.
struct Prepared {
  std::string source{};
  fs::path path{};  ///< below the tree
  std::string uuid{};
  std::string text{};
  std::vector<std::string> redacted{};
  std::vector<std::string> notes{};
};

/// Why a sound result may not be shared all the same.
std::optional<SchemaProblem> hindrance(const ResultCommon& common) {
  if (common.status.state == RunState::kDryRun) {
    return SchemaProblem{"/status/state", "a dry run is no measurement"};
  }
  if (common.rules.lockstep) {
    return SchemaProblem{"/workload/lockstep", "a side of a campaign is no run by itself"};
  }
  return std::nullopt;
}

/// The code of a file that may be shared is kOk.
ExitCode fitness(const CheckedFile& checked) {
  const ResultCommon* common = checked.report.result.get();
  if (checked.report.code != ExitCode::kOk || common == nullptr) return checked.report.code;
  const bool fit = common->status.state == RunState::kValid && !hindrance(*common);
  return fit ? ExitCode::kOk : ExitCode::kInvalid;
}

std::string first_reason(const CheckedFile& checked) {
  const ResultCommon* common = checked.report.result.get();
  const auto forbidden = common == nullptr ? std::nullopt : hindrance(*common);
  if (checked.report.problems.empty() && !forbidden) return checked.report.summary;
  const SchemaProblem& problem =
      checked.report.problems.empty() ? *forbidden : checked.report.problems.front();
  return (problem.path.empty() ? "" : problem.path + ": ") + problem.reason;
}

std::vector<std::string> notes_of(const ResultCommon& common) {
  std::vector<std::string> notes;
  if (common.identity.git_commit.empty()) {
    notes.emplace_back("built from no git commit: nobody can build the same program");
  } else if (common.identity.git_dirty) {
    notes.push_back(fmt::format("built from files that differ from commit {}",
                                common.identity.git_commit.substr(0, 7)));
  }
  if (common.status.mistrusted) {
    notes.push_back("mistrusted: " + join(common.status.mistrust_reasons, "; "));
  }
  return notes;
}

Prepared prepare(CheckedFile checked, const PrivateNames& names) {
  Prepared prepared;
  prepared.source = checked.file;
  json document = std::move(checked.document);
  prepared.redacted = redact(document, names);
  Submission submission{document.at("digest").get<std::string>(), prepared.redacted};
  if (checked.report.result->submission) {
    // What was shared before is shared again: the file as it was measured is still the first one.
    const Submission& before = *checked.report.result->submission;
    submission = before;
    std::erase_if(submission.redacted, [&](const std::string& pointer) {
      return !document.contains(json::json_pointer(pointer));  // a key above it changed just now
    });
    for (const std::string& pointer : prepared.redacted) {
      const auto& known = before.redacted;
      if (std::find(known.begin(), known.end(), pointer) == known.end()) {
        submission.redacted.push_back(pointer);
      }
    }
  }
  if (submission.redacted.size() > kMostRedacted) {
    throw Error(printable(checked.file),
                fmt::format("{} texts would be redacted, over the limit of {}",
                            submission.redacted.size(), kMostRedacted));
  }
  document["submission"] = submission_json(submission);
  document["schema_version"] = checked.report.kind->version();
  document["digest"] = digest_of(document);
  const CheckedFile again = check_result(checked.file, document);
  if (fitness(again) != ExitCode::kOk) {
    throw Error(printable(checked.file), "would not hold when redacted: " + first_reason(again),
                "nothing was written", fitness(again));
  }
  const ResultCommon& common = *again.report.result;
  prepared.path = submission_path(common);
  prepared.uuid = common.identity.uuid;
  prepared.text = readable_json(document);
  prepared.notes = notes_of(common);
  prepared.notes.insert(prepared.notes.end(), again.notes.begin(), again.notes.end());
  return prepared;
}

std::vector<Prepared> prepare_all(const std::vector<std::string>& files,
                                  const PrivateNames& names) {
  std::vector<Prepared> prepared;
  std::optional<Error> refusal;  // of the file that decides the exit code
  ExitCode code = ExitCode::kOk;
  for (const std::string& file : files) {
    CheckedFile checked = check_file(file, true);
    if (fitness(checked) == ExitCode::kOk) {
      if (!refusal) prepared.push_back(prepare(std::move(checked), names));
      continue;
    }
    print_check(checked);
    const ExitCode before = std::exchange(code, worse(code, fitness(checked)));
    if (code == before) continue;
    refusal.emplace(printable(file), first_reason(checked),
                    "nothing was written; only sound files of valid runs can be submitted", code);
  }
  if (refusal) throw Error(*refusal);
  return prepared;
}

/// Every run named in the tree, by its uuid, and the file. Texts are searched, not parsed: a tree
/// may hold thousands.
std::map<std::string, std::string> runs_in(const std::string& tree) {
  std::map<std::string, std::string> runs;
  std::error_code ignored;
  if (!fs::exists(tree, ignored)) return runs;
  constexpr std::string_view kKey = "\"uuid\"";
  for (const std::string& file : result_files_below(tree)) {
    const std::string text = read_file(file, JsonLimits{}.file_bytes);
    for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
      const std::size_t begin = text.find('"', at + kKey.size());
      if (begin == std::string::npos) break;
      const std::size_t end = text.find('"', begin + 1);
      if (end != std::string::npos) runs.emplace(text.substr(begin + 1, end - begin - 1), file);
    }
  }
  return runs;
}

void refuse_duplicates(const std::vector<Prepared>& all, const std::string& tree) {
  std::map<std::string, std::string> runs = runs_in(tree);
  std::map<fs::path, std::string> places;
  for (const Prepared& one : all) {
    const auto [run, fresh] = runs.emplace(one.uuid, one.source);
    if (!fresh) {
      throw Error(printable(one.source), "is there already: " + printable(run->second),
                  "the same run, by its uuid " + one.uuid + "; nothing was written");
    }
    const auto [place, vacant] = places.emplace(one.path, one.source);
    std::error_code ignored;
    if (!vacant || fs::exists(fs::symlink_status(fs::path(tree) / one.path, ignored))) {
      throw Error(printable(one.source), "its place is taken: " + printable(one.path.string()),
                  "by another run whose uuid begins alike; nothing was written");
    }
  }
}

/// The file of `one` below the tree; the folder of its machine is made where it is missing.
fs::path place_of(const Prepared& one, const fs::path& tree, std::deque<OutputFolder>& folders) {
  const fs::path folder = tree / one.path.parent_path();
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(folder, ignored))) {
    throw Error(printable(folder.string()), "is a link, and may lead out of the tree",
                "make it a folder");
  }
  folders.emplace_back(folder);
  return tree / one.path;
}

void write_all(const std::vector<Prepared>& all, const fs::path& tree) {
  std::deque<OutputFolder> folders;
  folders.emplace_back(tree);
  std::vector<fs::path> written;
  try {
    for (const Prepared& one : all) {
      const fs::path file = place_of(one, tree, folders);
      write_file_atomically(file, one.text);
      written.push_back(file);
      const CheckedFile checked = check_file(file.string());
      if (fitness(checked) != ExitCode::kOk) {
        throw Error(printable(file.string()), "is not what was written: " + first_reason(checked));
      }
      print_out(fmt::format("{}: {}\n", printable(file.string()), checked.report.summary));
      for (const std::string& pointer : one.redacted) {
        print_out(fmt::format("  redacted {}\n", printable(pointer, 400)));
      }
      for (const std::string& note : one.notes) {
        print_out(fmt::format("  note: {}\n", printable(note, 400)));
      }
    }
  } catch (const Error& error) {
    std::error_code ignored;
    for (const fs::path& file : written) fs::remove(file, ignored);
    throw Error(error.what_failed(), error.why(), "nothing was submitted", error.code());
  }
}

}  // namespace

ExitCode submit_results(const std::vector<std::string>& paths, const std::string& tree,
                        const PrivateNames& names) {
  const std::vector<Prepared> all = prepare_all(result_files(paths), names);
  refuse_duplicates(all, tree);
  write_all(all, tree);
  print_out(fmt::format("submitted  {} to {}\n{}\n",
                        format_count(static_cast<long long>(all.size()), "file"), printable(tree),
                        kUnverifiedNotice));
  return ExitCode::kOk;
}

ExitCode check_results_tree(const std::string& tree) {
  std::error_code ignored;
  if (!fs::is_directory(tree, ignored)) throw Error("--check " + printable(tree), "no such folder");
  std::map<std::string, std::string> runs;
  ExitCode code = ExitCode::kOk;
  const std::vector<std::string> files = result_files({tree});
  for (const std::string& file : files) {
    CheckedFile checked = check_file(file, true);
    const auto refuse = [&](ExitCode why, const std::string& path, const std::string& reason) {
      checked.report.problems.push_back({path, reason});
      code = worse(code, why);
    };
    code = worse(code, checked.report.code);
    if (const ResultCommon* common = checked.report.result.get()) {
      fs::path here = fs::path(file).lexically_relative(tree);
      if (!here.empty() && *here.begin() == kReferences) {
        here = here.lexically_relative(kReferences);
      }
      const fs::path place = submission_path(*common);
      if (here != place) refuse(ExitCode::kUsage, "", "belongs at " + place.string());
      const auto [run, fresh] = runs.emplace(common->identity.uuid, file);
      if (!fresh) refuse(ExitCode::kUsage, "/identity/uuid", "the same run as " + run->second);
      if (const auto forbidden = hindrance(*common)) {
        refuse(ExitCode::kInvalid, forbidden->path, forbidden->reason);
      }
      for (const std::string& pointer : redact(checked.document, {})) {
        refuse(ExitCode::kUsage, pointer, "names a home or a folder: 'harness submit' redacts it");
      }
    }
    if (!checked.report.problems.empty()) {
      checked.report.summary =
          "not as submitted: " +
          format_count(static_cast<long long>(checked.report.problems.size()), "problem");
    }
    print_check(checked);
  }
  if (code == ExitCode::kOk) {
    print_out(fmt::format("{}: {}, all as submitted\n", printable(tree),
                          format_count(static_cast<long long>(files.size()), "file")));
  }
  return code;
}

}  // namespace harness
