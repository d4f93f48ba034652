// Text to stdout and stderr, either of which may be closed, full or a pipe that nobody reads: a
// measurement must outlive them.
#pragma once

#include <cstdio>
#include <optional>
#include <string_view>

namespace harness {

/// Once, before any file is opened: a closed stdin, stdout or stderr would otherwise be the number
/// of the next file. Its place is taken so that reading or writing still fails. A pipe that nobody
/// reads and a limit of the file size become errors of the write instead of the end of the process.
void guard_streams();

/// Writes to `file` without ever throwing. False where it took less than the whole text.
bool write_text(std::FILE* file, std::string_view text) noexcept;

/// To stdout; what could not be written is known to lost_output().
void print_out(std::string_view text) noexcept;
/// To stderr; where it is lost there is no place left to say so.
void print_err(std::string_view text) noexcept;
/// Shows what stands in stdout's buffer.
void flush_out() noexcept;

/// Flushes stdout. The errno that says why a part of it could not be written; empty where all was.
std::optional<int> lost_output();

}  // namespace harness
