#include "harness/measure/ranks/order.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "harness/base/json_reader.hpp"
#include "harness/measure/own_process.hpp"
#include "harness/measure/ranks/handshake.hpp"
#include "harness/measure/ranks/meeting_guest.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kOrderVariable = "HARNESS_RANK_ORDER";
// Its launcher sees when another is lost. Until then a rank waits as long as another needs, be it
// to look through a large data set.
constexpr double kNeverSeconds = 30.0 * 24 * 3600;

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

json to_json(const RankOrder& order) {
  return {{"rank", order.place.rank},
          {"world", order.place.world},
          {"host", order.place.meeting.host},
          {"port", order.place.meeting.port},
          {"key", order.place.meeting.key},
          {"ranks_here", order.site.ranks_here},
          {"part", order.site.part},
          {"parts", order.site.parts},
          {"threads", order.threads},
          {"cpus", order.cpus},
          {"series", order.position.series_id},
          {"index", order.position.index},
          {"count", order.position.count},
          {"seed", order.seed},
          {"out", order.out.string()},
          {"stem", order.stem},
          {"uuid", order.uuid},
          {"started_at", order.started_at}};
}

RankOrder order_from(const json& object) {
  RankOrder order;
  order.place.rank = object.at("rank");
  order.place.world = object.at("world");
  order.place.meeting = {object.at("host"), object.at("port"), object.at("key")};
  order.site.ranks_here = object.at("ranks_here");
  order.site.part = object.at("part");
  order.site.parts = object.at("parts");
  order.threads = object.at("threads");
  order.cpus = object.at("cpus").get<std::vector<int>>();
  order.position = {object.at("series"), object.at("index"), object.at("count")};
  order.seed = object.at("seed");
  order.out = object.at("out").get<std::string>();
  order.stem = object.at("stem");
  order.uuid = object.at("uuid");
  order.started_at = object.at("started_at");
  return order;
}

std::string variable_of(const RankOrder& order) {
  return std::string(kOrderVariable) + "=" + to_json(order).dump();
}

std::optional<RankOrder> inherited_rank_order() {
  const char* text = std::getenv(kOrderVariable);
  if (text == nullptr) return std::nullopt;
  try {
    const RankOrder order = order_from(parse_json(text, kOrderVariable));
    const bool sound = order.place.rank >= 0 && order.place.rank < order.place.world &&
                       ::fcntl(kGivenDescriptor, F_SETFD, FD_CLOEXEC) == 0;
    if (!sound) throw std::invalid_argument(kOrderVariable);
    return order;
  } catch (const std::exception&) {
    throw Error(kOrderVariable, "is set to something else than the order of a rank", "unset it");
  }
}

RankPlace engine_place(const RankOrder& order) {
  const auto guest = std::make_shared<MeetingGuest>(order.place, kRankItself);
  RankPlace place;
  place.rank = order.place.rank;
  place.world = order.place.world;
  place.address = guest->own_address();
  place.timeout_seconds = kNeverSeconds;
  place.put = [guest](const std::string& name, const std::string& bytes) {
    guest->put(name, bytes);
  };
  place.get = [guest](const std::string& name) { return guest->get(name); };
  return place;
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

}  // namespace harness
