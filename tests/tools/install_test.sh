#!/usr/bin/env bash
# Installs a build into a folder, moves the folder elsewhere, makes it read-only, hides the source tree where
# the system allows that, and works with it; then builds a program with a workload of its own from it.
# usage: install_test.sh SOURCE BUILD CMAKE
set -u -o pipefail

source="$1" build="$2" cmake="$3"
if [[ "${4:-}" != inside ]]; then
  work="$(mktemp -d)"
  trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
  "$cmake" --install "$build" --prefix "$work/first" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  # Who may make a name space of mounts sees an empty folder where the source tree was, and a moved
  # installation on a read-only mount.
  if unshare --mount true 2>/dev/null; then
    unshare --mount -- bash "$0" "$source" "$build" "$cmake" inside "$work" hidden
  else
    echo 'no name space of mounts here: the source tree stays in sight'
    bash "$0" "$source" "$build" "$cmake" inside "$work" seen
  fi
  exit
fi

work="$5"
failed=0
expect() { # DESCRIPTION COMMAND...
  local code
  "${@:2}" >"$work/now.out" 2>"$work/now.err"
  code=$?
  # A question about what was said leaves that as it is.
  [[ "$2" == says || "$2" == test ]] || { mv "$work/now.out" "$work/out" && mv "$work/now.err" "$work/err"; }
  [[ "$code" != 0 ]] || return 0
  failed=$((failed + 1))
  echo "FAILED $1"
  sed 's/^/    /' "$work/out" "$work/err"
}
ends_with() { # CODE COMMAND...
  "${@:2}"
  [[ "$?" == "$1" ]]
}
says() { grep -q -- "$1" "$work/out" "$work/err"; }

mv "$work/first" "$work/moved" && mkdir -p "$work/cwd" "$work/home" "$work/project"
chmod -R a-w "$work/moved"
cp "$source/tests/tools/install/"* "$work/project"
cd "$work/cwd" || exit 1
if [[ "$6" == hidden ]]; then
  mount --bind "$work/moved" "$work/moved" && mount -o remount,bind,ro "$work/moved" || exit 1
  # A build folder inside the source tree is hidden with it. LibTorch stays where it was.
  mkdir "$work/venv"
  [[ ! -d "$source/.venv" ]] || mount --bind "$source/.venv" "$work/venv" || exit 1
  mount -t tmpfs none "$source" && mkdir "$source/.venv" || exit 1
  mount --bind "$work/venv" "$source/.venv" && mount -o remount,ro "$source" || exit 1
  expect 'nothing can be written into the installation' ends_with 1 touch "$work/moved/bin/new"
fi
unset HARNESS_HOME
export HOME="$work/home" PATH="$work/moved/bin:$PATH"

expect 'list names the workloads' ends_with 0 harness list
expect 'null among them' says 'null'
expect 'run measures' ends_with 0 harness run --workload null --set step-ms=0
# But for LibTorch's, where that lies in it.
tells_source() { grep -rhF -- "$source" runs | grep -vF -- "$source/.venv"; }
expect 'and tells no path of the source tree' ends_with 1 tells_source
result="$(echo runs/*/null-*.json)"
expect 'into runs/ of the current folder' test -r "$result"
expect 'validate finds schema and rules' ends_with 0 harness validate "$result"
expect 'gate finds its rules' ends_with 5 harness gate --allow-debug --baseline "$result" --candidate "$result"
expect 'report draws its page' ends_with 0 harness report "$result" -o page.html
if [[ "$6" == hidden ]]; then
  mkdir read-only && mount -t tmpfs -o ro none read-only && cd read-only || exit 1
  expect 'a folder that cannot be written is one line' ends_with 1 harness run --workload null
  expect 'and names the way out' test "$(grep -c '^harness: ' "$work/err")" = 1
  cd ..
fi

expect 'a project finds the package' "$cmake" -G Ninja -S "$work/project" -B "$work/project/build" \
  -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Debug
expect 'and builds' "$cmake" --build "$work/project/build"
mine="$work/project/build/my-harness"
export HARNESS_HOME="$work/own" # a copy, with rules for one workload more
mkdir "$HARNESS_HOME" && cp -r "$work/moved/share/harness/." "$HARNESS_HOME" && chmod -R u+w "$HARNESS_HOME"
cp "$work/project/twice.json" "$HARNESS_HOME/rules/"
expect 'its workload is measured' ends_with 0 "$mine" run --workload twice --out own-runs
expect 'and its result is valid' ends_with 0 "$mine" validate own-runs/*.json
[[ "$failed" == 0 ]] && echo 'installed, moved, read-only: all works'
[[ "$failed" == 0 ]]
