// The verdict beside a campaign.
#include "harness/gate/verdict_file.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/gate/forms.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_campaign.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a verdict is read as it was written", "[gate][verdict]") {
  const TemporaryFolder folder;
  CHECK_FALSE(read_verdict(folder.path()));
  GateReport report = sample_campaign(0.95);
  report.notes = {"a note"};
  report.rows.back().counted = "pair";
  report.differences = {{"kernels", "reference", "custom"}};
  write_verdict(folder.path(), report);
  const std::string text = read_file(folder / kVerdictFile, 1 << 20);
  CHECK(text.find('\n') == text.size() - 1);
  const auto read = read_verdict(folder.path());
  REQUIRE(read);
  for (const std::string& format : kGateFormats) {
    CHECK(render_gate(*read, format, false) == render_gate(report, format, false));
  }
  REQUIRE(read->rows.size() == 3);
  CHECK(read->rows[0].improvements == report.rows[0].improvements);
  CHECK(read->rows.back().counted == report.rows.back().counted);
  CHECK(read->rows[0].looks.size() == report.rows[0].looks.size());
  report.forbidding = {{"rules", "1.0.0", "1.1.0"}};
  report.rules_accepted = true;
  write_verdict(folder.path(), report);
  CHECK(overall_word(*read_verdict(folder.path())) == "new baseline");
  // A campaign that goes on replaces it.
  write_verdict(folder.path(), sample_campaign(1));
  CHECK(overall_word(*read_verdict(folder.path())) == "same");
}

TEST_CASE("a file that is no verdict is refused", "[gate][verdict]") {
  const TemporaryFolder folder;
  write_verdict(folder.path(), sample_campaign(0.95));
  const std::string sound = read_file(folder / kVerdictFile, 1 << 20);
  const auto with = [&](const std::string& what, const std::string& other) {
    std::string text = sound;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), other);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("3"), std::string("{}"),
        with("\"regressed\"", "\"rejected\""), with("\"margin\":", "\"margin\":-"),
        with("\"improvements\":[", "\"improvements\":[0,"), with("\"median\":0", "\"median\":-1"),
        with("\"rows\":[", "\"rows\":[1,"), sound.substr(0, sound.size() / 2), sound + sound}) {
    CAPTURE(text.substr(0, 200));
    std::ofstream(folder / kVerdictFile) << text;
    const ErrorParts damaged = refusal_of([&] { read_verdict(folder.path()); });
    CHECK(damaged.about == (folder / kVerdictFile).string());
    CHECK(damaged.names("harness gate --resume " + folder.path().string()));
  }
}
