// Our side of tests/oracle/words_oracle.py: of each line, a text as hexadecimal digits, its words
// and its pieces.
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/hexadecimal.hpp"
#include "workloads/language/word_pieces.hpp"
#include "workloads/language/words.hpp"

int main(int argc, char** argv) {
  using namespace harness;             // NOLINT(google-build-using-namespace)
  using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
  try {
    if (argc != 2) throw std::runtime_error("usage: words_program VOCABULARY <LINES");
    const WordPieces pieces(argv[1]);
    std::string line;
    while (std::getline(std::cin, line)) {
      const std::string text = from_hexadecimal(line);
      nlohmann::json answer = {{"words", nlohmann::json::array()}, {"pieces", pieces(text)}};
      for (const std::u32string& word : words(text, text.size())) {
        answer["words"].push_back(utf8(word));
      }
      std::cout << answer << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "words_program: " << error.what() << '\n';
    return 1;
  }
}
