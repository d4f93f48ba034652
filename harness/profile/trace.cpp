#include "harness/profile/trace.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/profile/attribution.hpp"
#include "harness/profile/verbose_log.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr int kProcess = 1;
constexpr int kScopeTrack = 1;
constexpr int kPrimitiveTrack = 2;

const char* category(ScopeKind kind) {
  switch (kind) {
    case ScopeKind::kStep:
      return "step";
    case ScopeKind::kPhase:
      return "phase";
    case ScopeKind::kModule:
      return "module";
    case ScopeKind::kOperator:
      return "operator";
    case ScopeKind::kKernel:
      return "kernel";
  }
  return "";
}

class Writer {
 public:
  Writer(const Recording& recording, std::ostream& stream)
      : recording_(recording), attribution_(attribute(recording)), stream_(stream) {
    if (!recording.scopes.empty()) origin_ns_ = recording.scopes.front().begin_ns;
  }

  void write() {
    stream_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    name("process_name", kScopeTrack, "harness profile");
    name("thread_name", kScopeTrack, "operators");
    name("thread_name", kPrimitiveTrack, "primitives");
    for (std::size_t i = 0; i < recording_.scopes.size(); ++i) scope(i);
    primitives();
    memory();
    stream_ << "\n]}\n";
  }

 private:
  double micros(std::int64_t ns) const { return static_cast<double>(ns - origin_ns_) / 1000; }

  void event(const json& object) {
    stream_ << (first_ ? "\n" : ",\n")
            << object.dump(-1, ' ', true, json::error_handler_t::replace);
    first_ = false;
  }

  void name(const char* what, int track, const char* value) {
    event({{"ph", "M"},
           {"pid", kProcess},
           {"tid", track},
           {"name", what},
           {"args", {{"name", value}}}});
  }

  void complete(int track, const std::string& name, const char* kind, std::int64_t begin_ns,
                std::int64_t end_ns, json arguments) {
    event({{"ph", "X"},
           {"pid", kProcess},
           {"tid", track},
           {"name", name},
           {"cat", kind},
           {"ts", micros(begin_ns)},
           {"dur", static_cast<double>(end_ns - begin_ns) / 1000},
           {"args", std::move(arguments)}});
  }

  void scope(std::size_t i) {
    const RecordedScope& scope = recording_.scopes[i];
    json arguments = json::object();
    if (!attribution_.module[i].empty()) arguments["module"] = attribution_.module[i];
    if (!scope.shapes.empty()) arguments["inputs"] = scope.shapes;
    if (attribution_.forward[i] >= 0) {
      arguments["forward"] =
          recording_.scopes[static_cast<std::size_t>(attribution_.forward[i])].name;
    }
    if (scope.page_faults > 0) arguments["page_faults"] = scope.page_faults;
    complete(kScopeTrack, scope.name, category(scope.kind), scope.begin_ns, scope.end_ns,
             std::move(arguments));
    if (scope.kernel) {
      Primitive kernel = *scope.kernel;
      kernel.milliseconds = static_cast<double>(attribution_.self_ns[i]) * 1e-6;
      kernels_.push_back({scope.begin_ns, scope.end_ns, std::move(kernel), "harness"});
    }
  }

  struct Placed {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    Primitive primitive;
    std::string library;
  };

  // oneDNN says when a line was begun by a clock of its own: what matters is that it ran within its
  // operator, one after the other.
  Placed place(const LoggedPrimitive& logged, const RecordedScope& scope, std::int64_t free_from) {
    const auto length = static_cast<std::int64_t>(logged.primitive.milliseconds * 1e6);
    std::int64_t begin = scope.begin_ns;
    if (logged.timestamp && *logged.timestamp < 9e12) {
      begin = static_cast<std::int64_t>(*logged.timestamp * 1e6);
    }
    begin = std::clamp(begin, std::max(scope.begin_ns, std::min(free_from, scope.end_ns)),
                       scope.end_ns);
    return {begin, std::min(begin + length, scope.end_ns), logged.primitive,
            logged.library.empty() ? "oneDNN" : "oneDNN " + logged.library};
  }

  void primitives() {
    std::vector<Placed> all = std::move(kernels_);
    std::int64_t free_from = origin_ns_;
    for (const LoggedPrimitive& logged : parse_verbose_log(recording_.log).executed) {
      if (logged.scope < 0 || logged.scope >= static_cast<std::int64_t>(recording_.scopes.size())) {
        continue;
      }
      all.push_back(
          place(logged, recording_.scopes[static_cast<std::size_t>(logged.scope)], free_from));
      free_from = all.back().end_ns;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Placed& a, const Placed& b) { return a.begin_ns < b.begin_ns; });
    std::int64_t last_end = origin_ns_;
    for (const Placed& placed : all) {
      // A kernel of ours may surround nothing of oneDNN's, so what overlaps is an error of a clock.
      const std::int64_t begin = std::max(placed.begin_ns, last_end);
      const std::int64_t end = std::max(begin, placed.end_ns);
      last_end = end;
      const Primitive& p = placed.primitive;
      complete(kPrimitiveTrack, p.kind + " " + p.direction, "primitive", begin, end,
               {{"library", placed.library},
                {"implementation", p.implementation},
                {"problem", p.problem},
                {"milliseconds", p.milliseconds}});
    }
  }

  void memory() {
    for (const RecordedAllocation& allocation : recording_.allocations) {
      event({{"ph", "C"},
             {"pid", kProcess},
             {"tid", kScopeTrack},
             {"name", "memory in use"},
             {"ts", std::max(0.0, micros(allocation.at_ns))},
             {"args", {{"bytes", allocation.in_use_bytes}}}});
    }
  }

  const Recording& recording_;
  Attribution attribution_;
  std::ostream& stream_;
  std::int64_t origin_ns_ = 0;
  bool first_ = true;
  std::vector<Placed> kernels_{};
};

}  // namespace

void write_trace(const Recording& recording, std::ostream& stream) {
  Writer(recording, stream).write();
}

}  // namespace harness
