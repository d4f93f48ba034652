#include "harness/result/result_folder.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/result_file.hpp"
#include "harness/result/series.hpp"

namespace harness {

namespace fs = std::filesystem;

std::vector<Result> one_per_run(std::vector<Result> results) {
  std::map<std::pair<std::string, std::int64_t>, Result> best;
  for (Result& result : results) {
    const auto key = std::pair(result.identity.series_id, result.identity.run_index);
    const auto known = best.find(key);
    const auto rank = [](const Result& one) {
      return std::pair(!was_stopped(one.status), one.identity.ended_at);
    };
    if (known == best.end() || rank(known->second) < rank(result)) {
      best.insert_or_assign(key, std::move(result));
    }
  }
  std::vector<Result> list;
  for (auto& [key, result] : best) list.push_back(std::move(result));
  std::stable_sort(list.begin(), list.end(), [](const Result& a, const Result& b) {
    return std::pair(a.identity.started_at, a.identity.run_index) <
           std::pair(b.identity.started_at, b.identity.run_index);
  });
  return list;
}

void require_whole_series(const fs::path& path, const std::vector<Result>& runs) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return;
  SeriesBook book;
  for (const Result& run : runs) book.add("run " + run.identity.uuid.substr(0, 8), run);
  for (const auto& lines : {book.contradictions(), book.gaps()}) {
    if (lines.empty()) continue;
    throw Error(printable(path.string()), lines.front(),
                "a series is judged as a whole: add what is missing, or measure it again");
  }
}

std::vector<Result> results_of_series(const fs::path& folder, const std::string& series_id) {
  std::vector<Result> results;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".json") continue;
    try {
      Result result = read_result_file(entry.path());
      if (result.identity.series_id == series_id) results.push_back(std::move(result));
    } catch (const Error&) {
      continue;
    }
  }
  return one_per_run(std::move(results));
}

}  // namespace harness
