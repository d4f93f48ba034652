#include "harness/report/page/html_render.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/report/page/html_json.hpp"
#include "harness/report/page/page_assets.hpp"

namespace harness {
namespace {

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (k < count ? bytes[i + k] : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[(group >> (18 - 6 * k)) & 63U] : '=';
    }
  }
  return text;
}

/// As a content security policy names a text that it allows.
std::string hash_source(std::string_view content) {
  const std::string hex = sha256_hex(content);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return "'sha256-" + base64(bytes) + "'";
}

std::string policy() {
  std::vector<std::string> scripts;
  for (const std::string_view script : {chart_js(), tables_js(), labels_js(), plots_js(),
                                        marks_js(), icicle_js(), verdict_js(), page_js()}) {
    scripts.push_back(hash_source(script));
  }
  // The data are no script and need no leave. The icon is an empty one: without it some browsers
  // ask for a file.
  return "default-src 'none'; script-src " + join(scripts, " ") + "; style-src " +
         hash_source(page_css()) + "; img-src data:; base-uri 'none'; form-action 'none'";
}

}  // namespace

std::string render_html(const ReportPage& page) {
  const std::string data = script_json(to_json(page));
  const std::string rules = policy();
  const std::array<std::pair<std::string_view, std::string_view>, 11> parts = {
      {{"policy", rules},
       {"style", page_css()},
       {"data", data},
       {"chart", chart_js()},
       {"tables", tables_js()},
       {"labels", labels_js()},
       {"plots", plots_js()},
       {"marks", marks_js()},
       {"icicle", icicle_js()},
       {"verdict", verdict_js()},
       {"page", page_js()}}};
  // In one pass over the template: what is put in is not looked at again.
  std::string html;
  std::string_view rest = page_html();
  while (true) {
    const std::size_t open = rest.find("{{");
    html += rest.substr(0, open);
    if (open == std::string_view::npos) return html;
    const std::size_t close = rest.find("}}", open);
    const std::string_view name = rest.substr(open + 2, close - open - 2);
    for (const auto& [known, content] : parts) {
      if (known == name) html += content;
    }
    rest.remove_prefix(close + 2);
  }
}

}  // namespace harness
