// The source tree as text, for the tests of its order. Their sources have HARNESS_SOURCE_DIR.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

using Sources = std::map<std::string, std::string>;  ///< content by path

inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All C++ files of ours, relative to the source tree.
inline std::vector<std::string> cpp_files() {
  std::vector<std::string> files;
  for (const char* folder : {"harness", "workloads", "kernels", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(HARNESS_SOURCE_DIR) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (entry.is_regular_file() && (extension == ".cpp" || extension == ".hpp")) {
        files.push_back(
            std::filesystem::relative(entry.path(), HARNESS_SOURCE_DIR).generic_string());
      }
    }
  }
  return files;
}

/// `text` without comments and without what stands in quotes.
inline std::string code_of(std::string_view text) {
  std::string code;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == quote || text[i] == '\n') {
        quote = 0;
      }
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else {
      // 1'000 is a number.
      const bool digits = text[i] == '\'' && i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
      if (text[i] == '"' || (text[i] == '\'' && !digits)) quote = text[i];
      code += text[i];
    }
  }
  return code;
}

}  // namespace harness
