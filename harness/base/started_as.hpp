// What a person types to start the program, for lines that say what to do next.
#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// $HARNESS_STARTED_AS ("./quickstart"), else "harness".
std::string started_as();

/// "to go on from here: harness suite --resume 'runs/suite'", a line.
std::string going_on_text(const std::string& command, const std::filesystem::path& out);

}  // namespace harness
