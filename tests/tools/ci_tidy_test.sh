#!/usr/bin/env bash
# The tidy stage of .ci/run with a stand-in for clang-tidy-16: what was not checked is named, and no
# success. No compiler, a few seconds.
# usage: ci_tidy_test.sh PATH/TO/.ci/run
set -u -o pipefail

script="$(readlink -f -- "$1")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0
mkdir -p "$work/bin" "$work/tree/.ci" "$work/tree/build/release"
# A file named slow.cpp takes longer than there is, one named bad.cpp has a finding.
cat >"$work/bin/clang-tidy-16" <<'END'
#!/usr/bin/env bash
case "${!#}" in
  *slow.cpp) sleep 600 ;;
  *bad.cpp) echo 'bad.cpp:1: warning' && exit 1 ;;
esac
END
chmod +x "$work/bin/clang-tidy-16"
cp "$script" "$work/tree/.ci/run"
cd "$work/tree" || exit 1
printf 'build/\n' >.gitignore
git init -q . && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm start

# files NAME...: the changed files; those that do not start with "un" are part of the build.
files() {
  local name entries=''
  rm -f -- *.cpp
  for name in "$@"; do
    echo 'int x;' >"$name"
    [[ "$name" == un* ]] || entries+="{\"file\": \"$PWD/$name\"},"
  done
  echo "[${entries%,}]" >build/release/compile_commands.json
}
tidy() { env HARNESS_TIDY_BASE=HEAD PATH="$work/bin:$PATH" "$@" bash .ci/run tidy >"$work/out" 2>&1; }
expect() { # DESCRIPTION CODE TEXT-OF-THE-SUMMARY
  local code=$3
  if [[ "$code" != "$2" ]] || ! sed -n '/===== summary/,$p' "$work/out" | grep -qF -- "$4"; then
    echo "FAILED $1 (exit $code)" && sed 's/^/    /' "$work/out"
    failed=1
  fi
}

files good.cpp
tidy; expect 'all checked' 0 $? 'passed'
files good.cpp bad.cpp
tidy; expect 'a finding' 1 $? 'FAILED'
files good.cpp unbuilt.cpp
tidy; expect 'not built' 1 $? 'NOT CHECKED by clang-tidy: unbuilt.cpp'
files unbuilt.cpp
tidy; expect 'nothing of it built' 1 $? 'NOT CHECKED by clang-tidy: unbuilt.cpp'
tidy HARNESS_TIDY_MINUTES=1; expect 'not built, with a limit' 0 $? 'NOT CHECKED by clang-tidy: unbuilt.cpp'
files good.cpp slow.cpp
tidy HARNESS_TIDY_MINUTES=0; expect 'out of a time that was chosen' 0 $? 'NOT CHECKED by clang-tidy: good.cpp slow.cpp'
sed -i 's/{HARNESS_TIDY_MINUTES:-15}/{HARNESS_TIDY_MINUTES:-0}/' .ci/run
tidy; expect 'out of the default time' 1 $? 'NOT CHECKED by clang-tidy: '
files
tidy; expect 'nothing changed' 0 $? 'passed'
[[ "$failed" == 0 ]] && echo passed
