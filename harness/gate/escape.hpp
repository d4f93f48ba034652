// Text that must not be taken for markup.
#pragma once

#include <string>
#include <string_view>

namespace harness {

/// Each of `special` as a character reference, which XML, HTML and Markdown know.
std::string character_references(std::string_view text, std::string_view special);

}  // namespace harness
