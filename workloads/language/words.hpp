// A text cut into the words that BERT's uncased vocabulary is looked up for (Devlin et al. 2018,
// arXiv 1810.04805), equal to the normaliser and pre-tokeniser of the library `tokenizers`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace harness::workloads {

/// UTF-8 decoded. What is not UTF-8 gives U+FFFD, one for each longest sequence of bytes that could
/// have begun a character, as the Unicode standard recommends; it never fails.
std::u32string code_points(std::string_view text);

std::string utf8(std::u32string_view text);

/// The first `most` words of a text in UTF-8, each in lower case, without accents and decomposed
/// (NFD). Punctuation marks and ideographs are words by themselves. Control, format and private
/// characters and U+FFFD are dropped and separate nothing, so bytes that are no UTF-8
/// vanish. Takes time in proportion to the text.
std::vector<std::u32string> words(std::string_view text, std::size_t most);

}  // namespace harness::workloads
