// Which module, operator and step the scopes of a recording belong to, and what adds up from them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/profile/attribution.hpp"
#include "harness/profile/tables.hpp"
#include "harness/profile/trace.hpp"
#include "harness/profile/views.hpp"

namespace harness {
namespace {

RecordedScope scope(ScopeKind kind, const std::string& name, std::int64_t parent,
                    std::int64_t begin_ms, std::int64_t end_ms) {
  RecordedScope result;
  result.kind = kind;
  result.name = name;
  result.parent = parent;
  result.begin_ns = begin_ms * 1'000'000;
  result.end_ns = end_ms * 1'000'000;
  return result;
}

constexpr const char* kForward =
    "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_training,"
    "src_f32::blocked:acdb:f0 wei_f32::blocked:ABcd16b16a:f0 dst_f32::blocked:acdb:f0,,"
    "alg:convolution_direct,mb1_ic64oc64_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1,";
constexpr const char* kReorder =
    "onednn_verbose,exec,cpu,reorder,jit:uni,undef,"
    "src_f32::blocked:abcd:f0 dst_f32::blocked:ABcd16b16a:f0,,,64x64x3x3,";

/// A step of 100 ms: a convolution in a module, forward (40 ms) and backward (30 ms), glue between.
Recording one_step() {
  Recording recording;
  auto& all = recording.scopes;
  all.push_back(scope(ScopeKind::kStep, "step", -1, 1000, 1100));
  all.push_back(scope(ScopeKind::kPhase, "forward", 0, 1000, 1060));
  all.push_back(scope(ScopeKind::kModule, "backbone.body.conv1", 1, 1005, 1055));
  all.push_back(scope(ScopeKind::kOperator, "aten::conv2d", 2, 1010, 1050));
  all.push_back(scope(ScopeKind::kOperator, "aten::convolution", 3, 1012, 1048));
  all.push_back(scope(ScopeKind::kPhase, "backward", 0, 1060, 1095));
  all.push_back(scope(ScopeKind::kOperator, "ConvolutionBackward0", 5, 1062, 1092));
  all.push_back(scope(ScopeKind::kOperator, "aten::convolution_backward", 6, 1065, 1090));
  all[3].sequence = 17;
  all[4].sequence = 17;
  all[6].sequence = 17;
  all[6].backward = true;
  all[4].page_faults = 90;
  all[3].page_faults = 100;
  all[4].system = SystemWork{30, 4'000'000};
  all[3].system = SystemWork{35, 5'000'000};
  all[0].system = SystemWork{50, 8'000'000};
  all[4].bytes = 1e6;
  recording.log =
      "onednn_verbose,info,oneDNN v3.2.0 (commit 1)\n"
      "#scope+ 0\n#scope+ 1\n#scope+ 2\n#scope+ 3\n#scope+ 4\n" +
      std::string(kReorder) + "2.5\n" + kForward + "20\n" +
      "#scope- 4\n#scope- 3\n#scope- 2\n#scope- 1\n#scope+ 5\n#scope+ 6\n#scope+ 7\n" +
      std::string(kForward) + "10\n#scope- 7\n#scope- 6\n#scope- 5\n#scope- 0\n";
  recording.allocations = {{1'020'000'000, 4096, 10'000, 4},
                           {1'030'000'000, 1 << 20, 2'000'000, 4},
                           {1'040'000'000, -(1 << 20), 951'424, 4},
                           {2'000'000'000, 1 << 30, 1 << 30, -1}};
  return recording;
}

const OperatorRow& row(const ProfileTables& tables, const std::string& name) {
  for (const OperatorRow& candidate : tables.operators) {
    if (candidate.name == name) return candidate;
  }
  throw std::out_of_range(name);
}

}  // namespace

TEST_CASE("a backward operator belongs to the module of its forward one", "[profile]") {
  const Attribution a = attribute(one_step());
  CHECK(a.module[4] == "backbone.body.conv1");
  CHECK(a.module[6] == "backbone.body.conv1");
  CHECK(a.module[7] == "backbone.body.conv1");
  CHECK(a.backward[7]);
  CHECK_FALSE(a.backward[4]);
  // Both forward operators carry the number; the inner one made the node.
  CHECK(a.forward[6] == 4);
  CHECK(a.self_ns[3] == 4'000'000);
  CHECK(a.self_faults[3] == 10);
  CHECK(a.self_system_ns[3] == 1'000'000);
}

TEST_CASE("an operator that makes no node does not take the next one's", "[profile]") {
  Recording recording = one_step();
  // Runs before the convolution, carries the number of the node to come, belongs to no module.
  recording.scopes.insert(recording.scopes.begin() + 2,
                          scope(ScopeKind::kOperator, "aten::size", 1, 1001, 1002));
  for (std::size_t i = 3; i < recording.scopes.size(); ++i) {
    if (recording.scopes[i].parent >= 2) ++recording.scopes[i].parent;
  }
  recording.scopes[2].sequence = 17;
  recording.scopes[6].parent = 0;
  recording.scopes[7].parent = 6;
  recording.scopes[8].parent = 7;
  CHECK(attribute(recording).module[7] == "backbone.body.conv1");
}

TEST_CASE("self times and what lies between them add up to the step", "[profile]") {
  const ProfileTables tables = tabulate(one_step());
  CHECK(tables.steps == 1);
  CHECK(tables.step_seconds == Approx(0.1));
  double inside = 0;
  for (const OperatorRow& operators : tables.operators) inside += operators.self_seconds;
  CHECK(inside == Approx(0.07));
  CHECK(tables.between_seconds == Approx(0.03));
  const OperatorRow& forward = row(tables, "aten::convolution");
  CHECK(forward.phase == "forward");
  CHECK(forward.self_seconds == Approx(0.036));
  CHECK(forward.primitive_seconds == Approx(0.0225));
  CHECK(forward.reorder_seconds == Approx(0.0025));
  CHECK(forward.gap_seconds() == Approx(0.0135));
  CHECK(forward.flops == Approx(2.0 * 64 * 56 * 56 * 64 * 9));
  CHECK(forward.page_faults == 90);
  CHECK(forward.system_seconds == Approx(0.004));
  CHECK(row(tables, "aten::convolution_backward").backward);
  CHECK(tables.attributed_share == 1);
  CHECK(tables.libraries == std::vector<std::string>{"3.2.0"});
}

TEST_CASE("what the steps' thread left to the system is told only where each step counted it",
          "[profile]") {
  Recording recording = one_step();
  RecordedScope second = scope(ScopeKind::kStep, "step", -1, 2000, 2100);
  second.system = SystemWork{150, 24'000'000};
  recording.scopes.push_back(second);
  const ProfileTables tables = tabulate(recording);
  REQUIRE(tables.system);
  CHECK(tables.system->seconds == Approx(0.016));
  CHECK(tables.system->page_faults == 100);
  CHECK(tables.system->fault_seconds() == Approx(0.016 / 100));
  const auto told = remarks(tables);
  CHECK(std::any_of(told.begin(), told.end(), [](const std::string& remark) {
    return remark ==
           "in the operating system: 16.00 ms a step (16.0 %), with 100 page "
           "faults";
  }));
  recording.scopes.back().system.reset();
  CHECK_FALSE(tabulate(recording).system);
  CHECK_FALSE(tabulate(Recording()).system);
  CHECK(SystemTime{3, 0}.fault_seconds() == 0);
}

TEST_CASE("rows of several steps are means", "[profile]") {
  Recording recording = one_step();
  Recording second = one_step();
  const auto count = static_cast<std::int64_t>(recording.scopes.size());
  for (RecordedScope& s : second.scopes) {
    s.begin_ns += 1'000'000'000;
    s.end_ns += 1'000'000'000;
    if (s.parent >= 0) s.parent += count;
    if (s.sequence >= 0) s.sequence += 100;
    recording.scopes.push_back(s);
  }
  recording.log +=
      "#scope+ 8\n#scope+ 12\n" + std::string(kForward) + "30\n#scope- 12\n#scope- 8\n";
  const ProfileTables tables = tabulate(recording);
  CHECK(tables.steps == 2);
  CHECK(tables.step_seconds == Approx(0.1));
  CHECK(row(tables, "aten::convolution").calls == 1);
  CHECK(row(tables, "aten::convolution").primitive_seconds == Approx((0.0225 + 0.03) / 2));
  const auto forward =
      std::find_if(tables.primitives.begin(), tables.primitives.end(), [&](const PrimitiveRow& p) {
        return p.owner && tables.operators[*p.owner].name == "aten::convolution" &&
               p.primitive.kind == "convolution";
      });
  REQUIRE(forward != tables.primitives.end());
  CHECK(forward->calls == 1);
  CHECK(forward->primitive.milliseconds == Approx(25));
}

TEST_CASE("primitives outside of operators and steps are told apart", "[profile]") {
  Recording recording = one_step();
  recording.log += "#scope+ 0\n#scope+ 1\n" + std::string(kForward) +
                   "32.5\n#scope- 1\n#scope- 0\n" + kForward + "7\n#scope+ 99\n" + kForward +
                   "7\n#scope- 99\n";
  const ProfileTables tables = tabulate(recording);
  CHECK(tables.attributed_share == Approx(0.5));
  CHECK(std::any_of(tables.notes.begin(), tables.notes.end(), [](const std::string& note) {
    return note.find("2 primitives ran outside of the steps") != std::string::npos;
  }));
}

TEST_CASE("a kernel of ours counts as a primitive", "[profile]") {
  Recording recording = one_step();
  RecordedScope kernel = scope(ScopeKind::kKernel, "grouped.backward_weights", 7, 1070, 1080);
  kernel.kernel = Primitive{"convolution",
                            "grouped:avx512",
                            "backward_weights",
                            {},
                            "",
                            "",
                            "g32mb1_ic128oc128_ih10oh10kh3sh1dh0ph1_iw10ow10kw3sw1dw0pw1",
                            0};
  recording.scopes.push_back(kernel);
  const ProfileTables tables = tabulate(recording);
  const OperatorRow& ours = row(tables, "grouped.backward_weights");
  CHECK(ours.kernel);
  CHECK(ours.module == "backbone.body.conv1");
  CHECK(ours.primitive_seconds == Approx(0.01));
  CHECK(ours.flops == Approx(2.0 * 128 * 100 * 4 * 9));
}

TEST_CASE("primitives that are made within a step are counted", "[profile]") {
  Recording recording = one_step();
  std::string made(kForward);
  made.replace(made.find("exec"), 4, "create:cache_miss");
  std::string found(kForward);
  found.replace(found.find("exec"), 4, "create:cache_hit");
  std::string vain(made);
  vain.replace(vain.find("ABcd16b16a"), 10, "ABcd16a16b");
  recording.log += "#scope+ 4\n" + made + "5\n" + found + "0.1\n" + vain + "3\n#scope- 4\n";
  const ProfileTables tables = tabulate(recording);
  double created = 0;
  for (const PrimitiveRow& primitive : tables.primitives) created += primitive.created;
  CHECK(created == 1);
  CHECK(std::any_of(tables.notes.begin(), tables.notes.end(), [](const std::string& note) {
    return note.find("1 primitives were created within the steps but not run") == 0;
  }));
  const std::vector<std::string> said = remarks(tables);
  CHECK(std::any_of(said.begin(), said.end(), [](const std::string& remark) {
    return remark.find("created again") != std::string::npos;
  }));
}

TEST_CASE("memory is that of the first step", "[profile]") {
  const ProfileTables tables = tabulate(one_step());
  REQUIRE(tables.memory.size() == 3);
  CHECK(tables.memory[1].seconds == Approx(0.03));
  CHECK(tables.memory[1].bytes == 2'000'000);
  REQUIRE(tables.allocations.size() == 2);
  CHECK(tables.allocations[0].bytes == 1 << 20);
  CHECK(tables.allocations[0].operator_name == "aten::convolution");
  CHECK(tables.allocations[0].module == "backbone.body.conv1");
}

TEST_CASE("the peak of a long curve of memory is kept", "[profile]") {
  Recording recording = one_step();
  recording.allocations.clear();
  for (std::int64_t i = 0; i < 5000; ++i) {
    recording.allocations.push_back({1'000'000'000 + i, 1, i == 3333 ? 1'000'000 : i, 0});
  }
  const ProfileTables tables = tabulate(recording);
  CHECK(tables.memory.size() <= kMostMemoryPoints);
  CHECK(std::any_of(tables.memory.begin(), tables.memory.end(),
                    [](const MemoryPoint& point) { return point.bytes == 1'000'000; }));
}

TEST_CASE("scopes that do not nest are refused", "[profile]") {
  Recording recording = one_step();
  recording.scopes[4].end_ns = recording.scopes[3].end_ns + 1;
  CHECK_THROWS_AS(attribute(recording), std::invalid_argument);
  recording = one_step();
  recording.scopes[4].parent = 6;
  CHECK_THROWS_AS(attribute(recording), std::invalid_argument);
  recording = one_step();
  std::swap(recording.scopes[4].begin_ns, recording.scopes[4].end_ns);
  CHECK_THROWS_AS(attribute(recording), std::invalid_argument);
}

TEST_CASE("parts are added up by the first two names of a module", "[profile]") {
  const std::vector<OperatorSum> parts = by_part(tabulate(one_step()));
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].name == "backbone.body");
  CHECK(parts[0].self_seconds == Approx(0.07));
  CHECK(parts[1].name == "(between operators)");
}

TEST_CASE("events of the trace nest and are not negative", "[profile]") {
  Recording recording = one_step();
  // A clock that ran backwards, one that is far ahead, and a line that took longer than its scope.
  for (const char* stamp : {"999999", "99999999999", "1050.5"}) {
    std::string line(kForward);
    line.insert(line.find("exec"), std::string(stamp) + ",");
    recording.log += "#scope+ 4\n" + line + "500\n#scope- 4\n";
  }
  std::ostringstream stream;
  write_trace(recording, stream);
  const nlohmann::json trace = nlohmann::json::parse(stream.str());
  std::map<int, std::vector<std::pair<double, double>>> open;
  std::size_t complete = 0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++complete;
    const double begin = event.at("ts");
    const double end = begin + event.at("dur").get<double>();
    CHECK(end >= begin);
    auto& stack = open[event.at("tid").get<int>()];
    while (!stack.empty() && stack.back().second <= begin) stack.pop_back();
    if (!stack.empty()) CHECK(end <= stack.back().second + 1e-6);
    stack.emplace_back(begin, end);
  }
  CHECK(complete == recording.scopes.size() + 6);
}

}  // namespace harness
