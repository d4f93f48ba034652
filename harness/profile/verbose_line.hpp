// A line of oneDNN's verbose output, in the forms of 2.x to 3.12.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/profile/primitive.hpp"

namespace harness {

enum class VerboseEvent {
  kExecuted,  ///< a primitive ran
  kCreated,   ///< a primitive was made or found in the cache
  kInfo,      ///< version, threads, instruction set, the template of the lines to come
  kOther,     ///< an event that times nothing: a check, a dispatch, a graph partition
};

struct VerboseLine {
  VerboseEvent event = VerboseEvent::kOther;
  std::string form{};            ///< "v0", "v1"; empty for versions that have no forms
  bool names_component = false;  ///< `primitive` stands before the event, as from 3.3 on
  /// As the line gives it, milliseconds since the epoch; empty without ONEDNN_VERBOSE_TIMESTAMP.
  std::optional<double> timestamp{};
  Primitive primitive{};            ///< of kExecuted and kCreated
  std::string cache{};              ///< of kCreated: cache_miss, cache_hit, empty where not told
  std::vector<std::string> info{};  ///< of kInfo: its fields
};

/// The columns that a template line announces, in their order.
using VerboseTemplate = std::vector<std::string>;

/// Those that all versions print unless they announce others.
const VerboseTemplate& default_verbose_template();

/// The template in an info line; empty where it holds none.
std::optional<VerboseTemplate> template_in(const VerboseLine& line);

/// `onednn_verbose[,v0|v1][,TIMESTAMP][,primitive],EVENT,COLUMNS`; columns are read by their names
/// in `columns`. Text before the marker is passed over. Empty for a line without the marker;
/// throws std::invalid_argument for one that has it and cannot be read (torn, truncated).
std::optional<VerboseLine> parse_verbose_line(std::string_view line,
                                              const VerboseTemplate& columns);

/// What stands before the columns: all but `primitive`, `cache` and `info`. Throws as above.
std::optional<VerboseLine> parse_verbose_head(std::string_view line);

/// "src_f32::blocked:acdb::f0 wei_f32:a:blocked:ABcd16b16a::f0" (v0), "src:f32::blocked:..." (v1).
std::vector<TensorLayout> parse_tensors(std::string_view text);

}  // namespace harness
