// The fuzz targets: what each reader does with bytes from anybody. A target returns for anything
// that its reader refuses as it should; whatever else it throws, and any crash, is a finding. The
// same functions run in the ordinary tests over seeds and past findings (tests/fuzz/fuzz_test.cpp).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace harness {

void fuzz_result(std::string_view bytes);       ///< a result file: validate, summary, redaction
void fuzz_rules(std::string_view bytes);        ///< a workload's rules, and judging by them
void fuzz_coco_json(std::string_view bytes);    ///< annotations in COCO's format
void fuzz_weights(std::string_view bytes);      ///< a file of torch.save()
void fuzz_safetensors(std::string_view bytes);  ///< weights or a saved state
void fuzz_words(std::string_view bytes);        ///< a text, for the tasks of language
void fuzz_mllog(std::string_view bytes);        ///< a training log, and judging it

/// What must hold of any input.
inline void promise(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("broken promise: " + what);
}

/// What goes to a terminal holds no control character.
inline void promise_printable(std::string_view text) {
  for (const char c : text) {
    promise(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a control character in a message");
  }
}

}  // namespace harness
