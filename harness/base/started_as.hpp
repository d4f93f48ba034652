// What a person types to start the program, for lines that say what to do next.
#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// Called once, with the first word of the command line. $HARNESS_STARTED_AS, shell text such as
/// "./quickstart", is what was typed where another program starts this one; it is taken out of the
/// environment, since it does not name what this program starts.
void start_as(const char* program);

/// As a shell takes it; "harness" where nobody told.
std::string started_as();

/// "to go on from here: harness suite --resume runs/suite", a line.
std::string going_on_text(const std::string& command, const std::filesystem::path& out);

}  // namespace harness
