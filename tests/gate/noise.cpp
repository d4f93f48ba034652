#include "tests/gate/noise.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <stdexcept>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kMostSides = 8;

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file) {
    recording_.name = file.stem().string();
  }

  NoiseRecording read() {
    std::ifstream stream(file_);
    for (std::string line; std::getline(stream, line);) {
      ++number_;
      if (line.starts_with("#")) {
        recording_.description += line.substr(1);
      } else {
        add(split(line, ' '));
      }
    }
    end_cluster();
    const bool enough = recording_.resident() ? recording_.clusters.size() >= kFewestClusters
                                              : recording_.seconds.size() >= kFewestRuns;
    if (!enough) refuse("too short");
    return std::move(recording_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", file_.string(), number_, why));
  }

  double seconds(const std::string& word) const {
    const auto value = parse_number(word);
    if (!value || !(*value > 0)) refuse("not a time: " + word);
    return *value;
  }

  std::vector<double> of_all_sides(const std::vector<std::string>& words) const {
    if (words.size() != sides_ + 1) refuse(fmt::format("not {} times", sides_));
    std::vector<double> values;
    for (std::size_t i = 1; i < words.size(); ++i) values.push_back(seconds(words[i]));
    return values;
  }

  void add(const std::vector<std::string>& words) {
    if (sides_ == 0) return add_first(words);
    if (words.front() == "start") {
      end_cluster();
      recording_.clusters.push_back({of_all_sides(words), {}});
    } else if (words.front() == "round" && recording_.resident()) {
      recording_.clusters.back().rounds.push_back(of_all_sides(words));
    } else {
      refuse("neither a start nor a round of a cluster");
    }
  }

  void add_first(const std::vector<std::string>& words) {
    if (words.front() != "sides") {
      if (words.size() != 1) refuse("more than one time");
      recording_.seconds.push_back(seconds(words.front()));
      return;
    }
    const auto count = words.size() == 2 ? parse_integer(words[1]) : std::nullopt;
    const bool sound = count && *count >= 2 && *count <= static_cast<std::int64_t>(kMostSides);
    if (!sound || !recording_.seconds.empty()) refuse("no number of sides from 2 to 8");
    sides_ = static_cast<std::size_t>(*count);
  }

  void end_cluster() const {
    if (recording_.resident() && recording_.clusters.back().rounds.empty()) {
      refuse("a cluster without a round");
    }
  }

  std::filesystem::path file_;
  std::size_t number_ = 0;
  std::size_t sides_ = 0;  ///< 0: runs one after the other
  NoiseRecording recording_{};
};

}  // namespace

NoiseRecording read_recording(const std::filesystem::path& file) { return Reader(file).read(); }

std::vector<NoiseRecording> all_recordings(const std::filesystem::path& source) {
  std::vector<NoiseRecording> recordings;
  for (const auto& entry : std::filesystem::directory_iterator(source / "tests" / "noise")) {
    if (entry.path().extension() == ".txt") recordings.push_back(read_recording(entry.path()));
  }
  std::sort(recordings.begin(), recordings.end(),
            [](const NoiseRecording& a, const NoiseRecording& b) { return a.name < b.name; });
  return recordings;
}

}  // namespace harness
