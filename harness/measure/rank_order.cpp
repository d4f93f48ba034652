#include "harness/measure/rank_order.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "harness/base/json_reader.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kOrderVariable = "HARNESS_RANK_ORDER";

void hand_over(std::string_view text) {
  while (!text.empty()) {
    const ssize_t taken = ::write(kGivenDescriptor, text.data(), text.size());
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return;  // nobody takes it any more
    text.remove_prefix(static_cast<std::size_t>(taken));
  }
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
              {"uuid", order.uuid},
              {"started_at", order.started_at},
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
    order.uuid = object.at("uuid");
    order.started_at = object.at("started_at");
    order.folder = object.at("folder").get<std::string>();
    const bool sound = order.place.rank >= 0 && order.place.rank < order.place.world &&
                       fs::is_directory(order.folder) &&
                       ::fcntl(kGivenDescriptor, F_SETFD, FD_CLOEXEC) == 0;
    if (!sound) throw std::invalid_argument(kOrderVariable);
    return order;
  } catch (const std::exception&) {
    throw Error(kOrderVariable, "is set to something else than the order of a rank", "unset it");
  }
}

ExitCode run_rank(const std::function<Result()>& measure_it) {
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
  hand_over(end.dump());
  return code;
}

RankEnd rank_end(const std::string& handed_over) {
  RankEnd end;
  const json object = json::parse(handed_over, nullptr, false);
  if (!object.is_object()) return end;
  if (!object.at("result").is_null()) end.result = result_from_json(object.at("result"));
  if (!object.at("error").is_null()) end.error = error_from(object.at("error"));
  end.lost_another = object.at("lost_another");
  return end;
}

fs::path rank_errors(const fs::path& folder, int rank) {
  return folder / fmt::format("rank-{}.log", rank);
}

}  // namespace harness
