#include "workloads/embed/lee_documents.hpp"

#include <string_view>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "workloads/language/words.hpp"

namespace harness::workloads {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  const std::string content = read_file(file, kMostBytes);
  std::vector<std::string> lines = split(content, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// A byte of Latin-1 is the number of its character.
std::string from_latin_1(std::string_view text) {
  std::u32string wide;
  for (const char byte : text) wide.push_back(static_cast<unsigned char>(byte));
  return utf8(wide);
}

}  // namespace

LeeDocuments read_lee_documents(const std::filesystem::path& documents,
                                const std::filesystem::path& similarities) {
  LeeDocuments lee;
  for (const std::string& line : lines_of(documents)) lee.texts.push_back(from_latin_1(line));
  const std::vector<std::string> rows = lines_of(similarities);
  const std::size_t count = lee.texts.size();
  const std::string what = similarities.string();
  if (count < 2 || rows.size() != count) {
    throw Error(what,
                std::to_string(rows.size()) + " rows for " + std::to_string(count) + " documents");
  }
  for (std::size_t a = 0; a < count; ++a) {
    const std::vector<std::string> cells = split(rows[a], '\t');
    if (cells.size() != count) {
      throw Error(what, "row " + std::to_string(a + 1) + " has " + std::to_string(cells.size()) +
                            " numbers for " + std::to_string(count) + " documents");
    }
    for (std::size_t b = a + 1; b < count; ++b) {
      lee.alike.push_back(number_in(what, trim(cells[b]), 0, 1));
    }
  }
  return lee;
}

}  // namespace harness::workloads
