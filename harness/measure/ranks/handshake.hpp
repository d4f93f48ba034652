// What the processes of a run in ranks say to each other over a connection: lines of JSON, after
// both ends have shown that they know the run's key (docs/several-machines.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace harness {

/// What a process comes as: `launcher` starts and watches a rank, `rank` is one that seeks others.
inline constexpr const char* kLauncher = "launcher";
inline constexpr const char* kRankItself = "rank";

/// Between two signs of life, and after which silence a process counts as lost.
inline constexpr double kSignSeconds = 1;
inline constexpr double kSilenceSeconds = 5;

/// So long a rank may take to end in good order when another is lost: it is told, notices it at its
/// next word to that one, at the end of a step at the latest, and hands over what it has.
inline constexpr double kPatienceSeconds = 8;

/// After which waiting for others is worth a word.
inline constexpr double kNoticeSeconds = 3;

/// Pieces of what is too long for one line.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

/// Shows that its maker knows `key`, without telling it: of both ends' random words, and of which
/// end it is, so that none can be used twice.
std::string key_proof(const std::string& key, std::string_view end, const std::string& host_word,
                      const std::string& guest_word);

/// A line as an object; throws ProtocolError for anything else.
nlohmann::json message_of(const std::string& line);

/// What hex_text() made a text of. Throws ProtocolError for what it did not make.
std::string bytes_of(std::string_view hex);

}  // namespace harness
