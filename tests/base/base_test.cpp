#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/metric_kind.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/base/utc.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("SHA-256 gives the published digests", "[base]") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("nearest names catch slips and refuse nonsense", "[base]") {
  const std::vector<std::string> names = {"retinanet-train", "focal-loss", "conv-blocks", "null"};
  CHECK(nearest_names("retinanet-trian", names) == std::vector<std::string>{"retinanet-train"});
  CHECK(nearest_names("focal", names) == std::vector<std::string>{"focal-loss"});
  CHECK(nearest_names("zzzzzzzzzzzzzz", names).empty());
  CHECK(nearest_names(std::string(100000, 'a'), names).empty());
  CHECK(did_you_mean("zzzzzzzzzzzz", {"a", "b"}) == "known: a, b");
  CHECK(did_you_mean("zzzzzzzzzzzz", {"b", "a", "b"}) == "known: b, a");
}

TEST_CASE("a line to paste has quotes only where the shell needs them", "[base]") {
  CHECK(pasted_word("runs/suite-20261123") == "runs/suite-20261123");
  CHECK(pasted_word("a=b,c:d@e+f%g") == "a=b,c:d@e+f%g");
  for (const char* word : {"", "two words", "~", "a*", "$x", "#", "it;", "(", "\"", "\\", "\n"}) {
    CAPTURE(word);
    CHECK(pasted_word(word) == "'" + std::string(word) + "'");
  }
  CHECK(pasted_word("it's") == "'it'\\''s'");
}

TEST_CASE("the program is named as it was called", "[base]") {
  start_as("build/release/harness");
  CHECK(started_as() == "build/release/harness");
  start_as("my folder/harness");
  CHECK(going_on_text("suite", "runs/a b") ==
        "to go on from here: 'my folder/harness' suite --resume 'runs/a b'\n");
  // What another program says is the shell's already, and is not for what this one starts.
  ::setenv("HARNESS_STARTED_AS", "bash quickstart", 1);
  start_as("/somewhere/harness");
  CHECK(going_on_text("run", "runs/a") ==
        "to go on from here: bash quickstart run --resume runs/a\n");
  CHECK(std::getenv("HARNESS_STARTED_AS") == nullptr);
  start_as("harness");
  CHECK(started_as() == "harness");
}

TEST_CASE("what went wrong is one line", "[base]") {
  CHECK(reason(std::bad_alloc()) == "memory ran out");
  CHECK(reason(std::runtime_error("shape\nException raised from f (most recent call first):")) ==
        "shape");
  CHECK(reason(Error("batch", "too large", "halve it")) == "batch: too large (halve it)");
}

TEST_CASE("numbers are whole texts and finite", "[base]") {
  CHECK(parse_integer("12") == 12);
  CHECK(parse_integer("-3") == -3);
  for (const char* bad : {"", "12x", " 12", "1e3", "99999999999999999999"}) {
    CHECK_FALSE(parse_integer(bad));
  }
  CHECK(parse_number("1e-3") == Approx(0.001));
  for (const char* bad : {"", "nan", "inf", "1e999", "1.0 "}) CHECK_FALSE(parse_number(bad));
}

TEST_CASE("quantities are shown in the unit a person expects", "[base]") {
  CHECK(format_quantity(1.5, "s") == "1.500 s");
  CHECK(format_quantity(0.0123, "s") == "12.30 ms");
  CHECK(format_quantity(-193, "s") == "-3 min 13 s");
  CHECK(format_quantity(3.0 * 1024 * 1024 * 1024, "B") == "3.00 GiB");
  CHECK(format_quantity(402e9, "FLOP") == "402 GFLOP");
  CHECK(format_quantity(1e300, "B") == "8.88e+284 PiB");
  CHECK(format_quantity(-1e300, "FLOP/s") == "-1e+285 PFLOP/s");
}

TEST_CASE("hostile text cannot drive the terminal", "[base]") {
  CHECK(printable("a\x1b[31mb\n") == "a\\x1b[31mb\\x0a");
  // What is no UTF-8: a byte of nothing, half a character, one that is longer than it need be.
  CHECK(printable("em\xff") == "em\\xff");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
  CHECK(printable("\xc0\xaf\xed\xa0\x80") == "\\xc0\\xaf\\xed\\xa0\\x80");
  CHECK(printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82") ==
        "\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82");
  CHECK(printable("a\xc2\x9b"
                  "31mb \xc2\xa0 \xc3\xa9") == "a\\x9b31mb \xc2\xa0 \xc3\xa9");
  CHECK(printable(std::string(1000, 'x'), 10) == "xxxxxxxxxx...");
}

TEST_CASE("reading is bounded and takes regular files only", "[base]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "f";
  std::ofstream(file) << "hello";
  CHECK(read_file(file, 5) == "hello");
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  for (const auto& [path, why] :
       {std::pair{file, "over the limit"}, std::pair{folder / "missing", "No such file"},
        std::pair{folder.path(), "not a regular file"},
        std::pair{folder / "fifo", "not a regular file"}}) {
    CHECK_THAT(refusal_of([&] { read_file(path, 4); }), is_about(path.string(), {why}));
  }
}

TEST_CASE("a hash is taken of regular files only", "[base]") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  for (const fs::path& path : {folder / "fifo", fs::path("/dev/zero"), folder.path()}) {
    CHECK_THAT(refusal_of([&] { sha256_of_file(path); }),
               is_about(path.string(), {"not a regular file"}));
  }
  std::ofstream(folder / "f") << "hello";
  CHECK(sha256_of_file(folder / "f") == sha256_hex("hello"));
  CHECK_THAT(refusal_of([&] { sha256_of_file(folder / "missing"); }),
             is_about((folder / "missing").string(), {"No such file"}));
}

TEST_CASE("an atomic write replaces the whole file and leaves nothing beside it", "[base]") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "one");
  write_file_atomically(folder / "f", "two");
  CHECK(read_file(folder / "f", 100) == "two");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a FIFO is written to where somebody reads", "[base]") {
  const TemporaryFolder folder;
  const fs::path fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THAT(refusal_of([&] { write_file_atomically(fifo, "one"); }),
             is_about(fifo.string(), {"nobody reads"}));
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  write_file_atomically(fifo, "one");
  std::string got(3, ' ');
  CHECK(::read(reader, got.data(), got.size()) == 3);
  CHECK(got == "one");
  ::close(reader);
  CHECK(fs::is_fifo(fifo));
}

TEST_CASE("a folder that cannot be written is one clear error", "[base]") {
  const TemporaryFolder folder;
  const fs::path nowhere = folder / "no" / "such" / "f";
  CHECK(refused([&] { write_file_atomically(nowhere, "x"); }) == nowhere.string());
  CHECK_THAT(refusal_of([] { make_writable_folder("/proc/nowhere"); }),
             is_about("/proc/nowhere", {"cannot create"}));
}

TEST_CASE("what is left of a run is told in one form", "[base]") {
  CHECK(format_time_left(0) == "0 s");
  CHECK(format_time_left(0.4) == "0 s");
  CHECK(format_time_left(59.6) == "1 min 00 s");
  CHECK(format_time_left(105.38) == "1 min 45 s");
  CHECK(format_time_left(218) == "3 min 38 s");
  CHECK(format_count(1, "round") == "1 round");
  CHECK(format_count(0, "round") == "0 rounds");
}

TEST_CASE("lines are broken at blanks and never end in one", "[base]") {
  CHECK(wrap("", 10, 2).empty());
  CHECK(wrap("one two", 10, 2) == "one two");
  CHECK(wrap("one two three", 9, 2) == "one two\n  three");
  CHECK(wrap("  one two three", 9, 4) == "  one two\n    three");
  CHECK(wrap("one      two", 6, 0) == "one\ntwo");
  CHECK(wrap("averyverylongword b", 5, 2) == "averyverylongword\n  b");
  CHECK(wrap("\u00b7\u00b7\u00b7 \u00b7\u00b7", 6, 0) == "\u00b7\u00b7\u00b7 \u00b7\u00b7");
}

TEST_CASE("a UUID has one form", "[base]") {
  CHECK(is_uuid("01234567-89ab-4def-8123-456789abcdef"));
  for (const char* text :
       {"", "01234567-89ab-4def-8123-456789abcde", "01234567-89AB-4def-8123-456789abcdef",
        "0123456-789ab-4def-8123-456789abcdef"}) {
    CAPTURE(text);
    CHECK_FALSE(is_uuid(text));
  }
}

TEST_CASE("a tag says the unit and the direction of its family", "[base]") {
  CHECK(standard_metric("time.phase.forward", "").unit == "s");
  CHECK(standard_metric("time.step", "").direction == Direction::kLower);
  CHECK(standard_metric("throughput.samples", "").unit == "samples/s");
  CHECK(standard_metric("throughput.samples", "").direction == Direction::kHigher);
  CHECK(standard_metric("loss.total", "").direction == Direction::kNone);
  // A quality has a direction of its own, and so has what a workload calls as it likes.
  const MetricKind quality = metric_kind("quality.mAP").value_or(MetricKind{});
  CHECK(quality.unit == "1");
  CHECK_FALSE(quality.direction);
  CHECK_FALSE(metric_kind("timeless"));
  CHECK_FALSE(metric_kind("power.package"));
  CHECK_THROWS_AS(standard_metric("quality.mAP", ""), std::invalid_argument);
}

TEST_CASE("dates of results are seconds since 1970", "[base]") {
  CHECK(utc_seconds("1970-01-01T00:00:01.500Z") == 1.5);
  CHECK(utc_seconds("2026-01-31T12:00:00.123Z") == 1769860800.123);
  CHECK(utc_seconds("2024-02-29T00:00:00.000Z") == 1709164800.0);
  for (const char* wrong :
       {"", "2026-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-31 12:00:00.123Z",
        "2026-01-31T12:00:00Z", "2026-01-31T12:00:0x.123Z", "2026-01-31T12:00:00.123Z "}) {
    CAPTURE(wrong);
    CHECK_FALSE(utc_seconds(wrong));
  }
  const double now = utc_seconds_now();
  CHECK(utc_seconds(utc_now()).value_or(0) >= now - 0.001);
}
