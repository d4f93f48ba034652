// oneDNN's verbose output, as its versions 2.6, 3.2 and 3.12 wrote it (tests/verbose/), and what
// becomes of lines that are torn, truncated or somebody else's.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/base/problem.hpp"
#include "harness/profile/primitive.hpp"
#include "harness/profile/verbose_line.hpp"
#include "harness/profile/verbose_log.hpp"

namespace harness {
namespace {

std::string recorded(const std::string& version) {
  std::ifstream stream(HARNESS_SOURCE_DIR "/tests/profile/verbose/onednn-" + version + ".txt");
  std::ostringstream text;
  text << stream.rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}

const Primitive& first(const VerboseLog& log, const std::string& kind,
                       const std::string& direction) {
  for (const LoggedPrimitive& logged : log.executed) {
    const Primitive& p = logged.primitive;
    if (p.kind == kind && p.direction == direction) return p;
  }
  throw std::out_of_range(kind + " " + direction);
}

const Primitive& first_made(const VerboseLog& log, const std::string& direction) {
  for (const LoggedCreation& logged : log.created) {
    if (logged.primitive.direction == direction) return logged.primitive;
  }
  throw std::out_of_range(direction);
}

constexpr const char* kLine =
    "onednn_verbose,exec,cpu,convolution,brgconv:avx512_core,forward_training,"
    "src_f32::blocked:acdb:f0 wei_f32::blocked:Acdb64a:f0 bia_undef::undef::f0 "
    "dst_f32::blocked:acdb:f0,attr-post-ops:eltwise_relu ,alg:convolution_direct,"
    "mb1_ic64oc64_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1,9.84814";

}  // namespace

TEST_CASE("oneDNN 2.6's lines are read", "[profile][verbose]") {
  const VerboseLog log = parse_verbose_log(recorded("2.6"));
  CHECK(log.libraries == std::vector<std::string>{"2.6.0"});
  CHECK(log.unreadable.empty());
  CHECK(log.foreign_lines == 0);
  REQUIRE(log.executed.size() == 5);
  CHECK(log.created.size() == 5);
  const Primitive& forward = first(log, "convolution", "forward_training");
  CHECK(forward.implementation == "brgconv:avx512_core");
  CHECK(forward.attributes == "attr-post-ops:eltwise_relu ");
  CHECK(forward.auxiliary == "alg:convolution_direct");
  CHECK(forward.milliseconds == Approx(9.84814));
  REQUIRE(forward.tensors.size() == 4);
  CHECK(forward.tensors[0] == TensorLayout{"src", "f32", "acdb", false});
  CHECK(forward.tensors[1] == TensorLayout{"wei", "f32", "Acdb64a", false});
  CHECK(flops(forward) == Approx(2.0 * 64 * 56 * 56 * 64 * 9));
  CHECK(bytes(forward) == Approx(4.0 * (2 * 64 * 56 * 56 + 64 * 64 * 9 + 64)));
  const Primitive& product = first(log, "matmul", "undef");
  CHECK(flops(product) == Approx(2.0 * 8 * 64 * 100));
  CHECK(bytes(product) == Approx(4.0 * (8 * 64 + 64 * 100 + 8 * 100)));
}

TEST_CASE("oneDNN 3.2's lines are read", "[profile][verbose]") {
  const VerboseLog log = parse_verbose_log(recorded("3.2"));
  CHECK(log.libraries == std::vector<std::string>{"3.2.0"});
  CHECK(log.unreadable.empty());
  const Primitive& data = first_made(log, "backward_data");
  CHECK(data.implementation == "jit:avx512_core");
  REQUIRE(data.tensors.size() == 4);
  CHECK(data.tensors[1] == TensorLayout{"wei", "f32", "aBCde16b16c", true});
  CHECK(data.tensors[2] == TensorLayout{"bia", "undef", "", false});
  const auto extents = ConvolutionExtents::parse(data.problem);
  REQUIRE(extents);
  CHECK(extents->of("g") == 32);
  CHECK(extents->of("ow") == 50);
  CHECK(extents->of("kd") == 1);
  CHECK(extents->of("pd") == 0);
  CHECK(extents->flops() == Approx(2.0 * 512 * 50 * 50 * 16 * 9));
  const Primitive& reorder = first(log, "reorder", "undef");
  CHECK(flops(reorder) == 0);
  CHECK(bytes(reorder) == Approx(2 * 4.0 * 512 * 1024));
}

TEST_CASE("oneDNN 3.12's lines are read, form v1 with timestamps", "[profile][verbose]") {
  const VerboseLog log = parse_verbose_log(recorded("3.12"));
  CHECK(log.libraries == std::vector<std::string>{"3.12.0"});
  CHECK(log.unreadable.empty());
  REQUIRE(!log.executed.empty());
  for (const LoggedPrimitive& logged : log.executed) {
    CHECK(logged.library == "3.12.0");
    REQUIRE(logged.timestamp);
    CHECK(*logged.timestamp > 1.7e12);
  }
  CHECK(std::count_if(log.created.begin(), log.created.end(),
                      [](const LoggedCreation& made) { return made.from_cache; }) == 2);
  const Primitive& weights = first(log, "convolution", "backward_weights");
  CHECK(weights.tensors[1] == TensorLayout{"wei", "f32", "ABcd16b16a", true});
  const Primitive& product = first(log, "matmul", "undef");
  CHECK(product.tensors[0].type == "bf16");
  CHECK(bytes(product) == Approx(2.0 * (8 * 64 + 64 * 100 + 8 * 100)));
}

TEST_CASE("form v0 is read, and components before the event", "[profile][verbose]") {
  std::string line(kLine);
  line.replace(0, std::string("onednn_verbose,").size(), "onednn_verbose,v0,primitive,");
  const auto parsed = parse_verbose_line(line, default_verbose_template());
  REQUIRE(parsed);
  CHECK(parsed->event == VerboseEvent::kExecuted);
  CHECK(parsed->form == "v0");
  CHECK(parsed->names_component);
  CHECK(parsed->primitive.tensors[0] == TensorLayout{"src", "f32", "acdb", false});
}

TEST_CASE("columns are read by the names that the template gives", "[profile][verbose]") {
  const std::string log =
      "onednn_verbose,info,oneDNN v3.99.0 (commit 1)\n"
      "onednn_verbose,info,template:operation,exec_time,primitive,problem_desc,new_column\n"
      "onednn_verbose,exec,1.5,reorder,8x64,whatever\n";
  const VerboseLog parsed = parse_verbose_log(log);
  REQUIRE(parsed.executed.size() == 1);
  CHECK(parsed.executed[0].primitive.milliseconds == 1.5);
  CHECK(parsed.executed[0].primitive.kind == "reorder");
  CHECK(parsed.executed[0].primitive.problem == "8x64");
}

TEST_CASE("two copies in one process keep their columns and versions apart", "[profile][verbose]") {
  const std::string both = recorded("3.12") + recorded("3.2") + recorded("3.12");
  const VerboseLog log = parse_verbose_log(both);
  CHECK(log.unreadable.empty());
  std::size_t newer = 0;
  std::size_t older = 0;
  for (const LoggedPrimitive& logged : log.executed) {
    newer += logged.library == "3.12.0" ? 1 : 0;
    older += logged.library == "3.2.0" ? 1 : 0;
  }
  CHECK(newer == 2 * parse_verbose_log(recorded("3.12")).executed.size());
  CHECK(older == parse_verbose_log(recorded("3.2")).executed.size());
  CHECK(newer + older == log.executed.size());
}

TEST_CASE("a truncated line is counted and never believed", "[profile][verbose]") {
  const std::string whole(kLine);
  // Cut within the time, a line may still be one; cut before it, it is not.
  for (std::size_t length = std::string("onednn_verbose,").size(); length < whole.rfind(',') + 1;
       ++length) {
    CAPTURE(length);
    const VerboseLog log = parse_verbose_log(whole.substr(0, length));
    CHECK(log.executed.empty());
  }
  CHECK(parse_verbose_log(whole).executed.size() == 1);
  const VerboseLog log = parse_verbose_log(whole.substr(0, 200) + "\n" + whole + "\n");
  CHECK(log.executed.size() == 1);
  REQUIRE(log.unreadable.size() == 1);
  CHECK(log.unreadable[0].find("line 1") == 0);
}

TEST_CASE("threads that write into each other's lines lose those alone", "[profile][verbose]") {
  const std::string whole(kLine);
  const std::string torn = whole.substr(0, 90) + whole + "\n" + whole.substr(90) + "\n" + whole;
  const VerboseLog log = parse_verbose_log(torn);
  CHECK(log.executed.size() == 2);
  CHECK(log.foreign_lines == 1);
}

TEST_CASE("foreign text between the lines is passed over", "[profile][verbose]") {
  const std::string log_text = "hello\n\nMKL_VERBOSE SGEMM(N,N,3,4) 1.2us\n" + std::string(kLine) +
                               "\nstep 3: loss 1.5 " + kLine + "\r\n#scope+ x\n#scope- 5\n";
  const VerboseLog log = parse_verbose_log(log_text);
  CHECK(log.executed.size() == 2);
  CHECK(log.foreign_lines == 2);
  CHECK(log.unreadable.size() == 2);
}

TEST_CASE("a line belongs to the innermost scope that is open", "[profile][verbose]") {
  const std::string line = std::string(kLine) + "\n";
  const VerboseLog log = parse_verbose_log(line + "#scope+ 0\n" + line + "#scope+ 7\n" + line +
                                           "#scope- 7\n" + line + "#scope- 0\n" + line);
  REQUIRE(log.executed.size() == 5);
  CHECK(log.executed[0].scope == -1);
  CHECK(log.executed[1].scope == 0);
  CHECK(log.executed[2].scope == 7);
  CHECK(log.executed[3].scope == 0);
  CHECK(log.executed[4].scope == -1);
}

TEST_CASE("a scope whose end was lost ends with the one around it", "[profile][verbose]") {
  const std::string line = std::string(kLine) + "\n";
  const VerboseLog log =
      parse_verbose_log("#scope+ 1\n#scope+ 2\n#scope+ 3\n#scope- 1\n" + line + "#scope- 2\n");
  CHECK(log.executed.at(0).scope == -1);
  CHECK(log.unreadable.size() == 1);
}

TEST_CASE("hostile numbers are no times and no shapes", "[profile][verbose]") {
  for (const char* time : {"nan", "inf", "-1", "1e999", "", "0x10", "1 "}) {
    CAPTURE(time);
    const std::string whole(kLine);
    const VerboseLog log = parse_verbose_log(whole.substr(0, whole.rfind(',') + 1) + time);
    CHECK(log.executed.empty());
    CHECK(log.unreadable.size() == 1);
  }
  Primitive reorder;
  reorder.kind = "reorder";
  reorder.tensors = {{"src", "f32", "ab", false}};
  for (const char* problem : {"8x-1", "8xx8", "x", "8x99999999999999999999"}) {
    reorder.problem = problem;
    CHECK_FALSE(bytes(reorder));
  }
}

TEST_CASE("names of tensors in v1 may hold underscores", "[profile][verbose]") {
  const std::vector<TensorLayout> tensors =
      parse_tensors("diff_src:bf16::blocked:acdb::f0 diff_wei_f32:ap:blocked:Bcda48b::f0");
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0] == TensorLayout{"diff_src", "bf16", "acdb", false});
  CHECK(tensors[1] == TensorLayout{"diff_wei", "f32", "Bcda48b", true});
}

}  // namespace harness
