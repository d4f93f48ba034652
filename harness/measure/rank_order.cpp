#include "harness/measure/rank_order.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/print.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kOrderVariable = "HARNESS_RANK_ORDER";

fs::path handed_over(const fs::path& folder, int rank) {
  return folder / fmt::format("rank-{}.json", rank);
}

json error_json(const Error& error) {
  return {{"what", error.what_failed()},
          {"why", error.why()},
          {"hint", error.hint()},
          {"code", static_cast<int>(error.code())}};
}

Error error_from(const json& object) {
  return {object.at("what"), object.at("why"), object.at("hint"),
          static_cast<ExitCode>(object.at("code").get<int>())};
}

}  // namespace

std::string variable_of(const RankOrder& order) {
  return std::string(kOrderVariable) + "=" +
         json{{"rank", order.place.rank},
              {"world", order.place.world},
              {"meeting_file", order.place.meeting_file.string()},
              {"timeout_seconds", order.place.timeout_seconds},
              {"cpus", order.cpus},
              {"series", order.position.series_id},
              {"index", order.position.index},
              {"count", order.position.count},
              {"seed", order.seed},
              {"out", order.out.string()},
              {"stem", order.stem},
              {"folder", order.folder.string()}}
             .dump();
}

std::optional<RankOrder> inherited_rank_order() {
  const char* text = std::getenv(kOrderVariable);
  if (text == nullptr) return std::nullopt;
  try {
    const json object = parse_json(text, kOrderVariable);
    RankOrder order;
    order.place = {object.at("rank"), object.at("world"),
                   fs::path(object.at("meeting_file").get<std::string>()),
                   object.at("timeout_seconds")};
    order.cpus = object.at("cpus").get<std::vector<int>>();
    order.position = {object.at("series"), object.at("index"), object.at("count")};
    order.seed = object.at("seed");
    order.out = object.at("out").get<std::string>();
    order.stem = object.at("stem");
    order.folder = object.at("folder").get<std::string>();
    end_with_parent();
    return order;
  } catch (const std::exception&) {
    throw Error(kOrderVariable, "is set to something else than the order of a rank", "unset it");
  }
}

ExitCode run_rank(const RankOrder& order, const std::function<Result()>& measure_it) {
  json end = {{"result", nullptr}, {"error", nullptr}, {"lost_another", false}};
  ExitCode code = ExitCode::kOk;
  const auto failed = [&](const Error& error, bool lost) {
    code = error.code();
    end["error"] = error_json(error);
    end["lost_another"] = lost;
  };
  try {
    const Result result = measure_it();
    end["result"] = to_json(result);
    end["lost_another"] = result.world && result.world->lost_rank;
  } catch (const LostRank& error) {
    failed(error, true);
  } catch (const Error& error) {
    failed(error, false);
  } catch (const std::exception& error) {
    failed(Error("run", reason(error)), false);
  }
  try {
    write_file_atomically(handed_over(order.folder, order.place.rank), end.dump());
  } catch (const std::exception& error) {
    // It goes where the others' words would: the process that runs the ranks looks there.
    print_err(fmt::format("{}\n", reason(error)));
    return ExitCode::kAborted;
  }
  return code;
}

RankEnd rank_end(const fs::path& folder, int rank) {
  RankEnd end;
  const fs::path file = handed_over(folder, rank);
  if (!fs::exists(file)) return end;
  const json object = read_json_file(file);
  if (!object.at("result").is_null()) end.result = result_from_json(object.at("result"));
  if (!object.at("error").is_null()) end.error = error_from(object.at("error"));
  end.lost_another = object.at("lost_another");
  return end;
}

fs::path rank_errors(const fs::path& folder, int rank) {
  return folder / fmt::format("rank-{}.log", rank);
}

}  // namespace harness
