// What a program would write to a terminal.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

namespace harness {

struct TextScreen {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
  std::string text() const {
    std::string content(static_cast<std::size_t>(std::ftell(file.get())), '\0');
    std::rewind(file.get());
    REQUIRE(std::fread(content.data(), 1, content.size(), file.get()) == content.size());
    return content;
  }
};

}  // namespace harness
