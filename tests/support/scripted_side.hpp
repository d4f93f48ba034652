// Sides in lockstep that are scripts of the shell.
#pragma once

#include <string>

namespace harness {

/// A side that tells its times without taking them: up to a millisecond away no clock says
/// otherwise. `more` members of its hello begin with a comma.
inline std::string side_that_tells(const std::string& answer, const std::string& more = "") {
  return R"(echo '{"lockstep":1,"name":"told","unit":"step")" + more +
         R"(}'; while read -r line; do case $line in )"
         R"(*finish*) exit 0;; *evaluate*) echo '{"quality":null}';; *) )" +
         answer + ";; esac; done";
}

/// The answer to `$line`, an order of steps, that each of them took so long.
inline std::string answer_told(const std::string& seconds) {
  return "n=${line#*:}; n=${n%%,*}; s=" + seconds +
         R"(; l=$s; while [ $n -gt 1 ]; do l=$l,$s; n=$((n-1)); done; echo "{\"seconds\":[$l]}")";
}

inline std::string told(const std::string& seconds) {
  return side_that_tells(answer_told(seconds));
}

}  // namespace harness
