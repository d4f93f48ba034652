// Short news and how alike people found each two of them (Lee, Pincombe, Welsh 2005: An empirical
// evaluation of models of text document similarity).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace harness::workloads {

struct LeeDocuments {
  std::vector<std::string> texts{};  ///< UTF-8
  std::vector<double> alike{};  ///< 0 to 1, of texts a < b in rows: (0, 1), (0, 2), ..., (1, 2)
};

/// `documents` has a text a line in Latin-1; `similarities` is a square of numbers, of which those
/// above the diagonal count. Throws Error where the two do not fit each other.
LeeDocuments read_lee_documents(const std::filesystem::path& documents,
                                const std::filesystem::path& similarities);

}  // namespace harness::workloads
