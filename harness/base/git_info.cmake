# Run at every build: writes OUTPUT with the commit of SOURCE, only when it changed, so that a result
# names the commit that was built and not the one that was configured.
set(commit "unknown")
set(dirty "false")
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD OUTPUT_VARIABLE head RESULT_VARIABLE failed
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT failed)
  set(commit ${head})
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(dirty "true")
  endif()
endif()
set(content "// Written at build time.
#pragma once

namespace harness {

inline constexpr const char* kGitCommit = \"${commit}\";
inline constexpr bool kGitDirty = ${dirty};

}  // namespace harness
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
