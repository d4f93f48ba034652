// Names in tables for a terminal: what tells two of them apart stays.
#pragma once

#include <cstddef>
#include <string>

namespace harness {

/// `name`, safe to print, in at most `width` characters (UTF-8), which are more than three. A
/// longer one loses its middle: names differ at their beginning or at their end.
std::string cut_middle(const std::string& name, std::size_t width);

/// A row of a table: the name, padded to `width`, and `rest`. A longer name has a line of its own
/// of at most `columns`, and `rest` stands under it. Ends with a newline.
std::string named_row(const std::string& name, std::size_t width, const std::string& rest,
                      std::size_t columns);

}  // namespace harness
