#!/usr/bin/env bash
# Drives a copy of ./quickstart in a temporary folder whose PATH holds nothing but a few plain tools
# and stand-ins for apt-get, dpkg-query, sudo, python3, cmake, ninja and ctest that write down how they
# were called. No network, nothing installed, a few seconds.
# usage: quickstart_test.sh PATH/TO/quickstart
# shellcheck disable=SC2016  # the bodies of the stand-ins are to be expanded when they run
set -u -o pipefail

script="$(readlink -f -- "${1:-"$(dirname -- "$0")/../../quickstart"}")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fake="$work/bin"
passed=0
failed=0

for tool in bash env find readlink dirname mkdir grep sed tail cut head cat rm flock nproc sleep chmod \
  touch timeout true mv; do
  mkdir -p "$fake" && ln -s "$(type -P "$tool")" "$fake/$tool"
done

# For stand-ins: waits until the script under test has said something, half a minute at most.
cat >"$fake/until_said" <<'END'
#!/usr/bin/env bash
for _ in {1..300}; do
  grep -qsF -- "$1" "$state/err" "$state/terminal" && exit 0
  sleep 0.1
done
END
chmod +x "$fake/until_said"

stand_in() { # NAME, body on stdin; $state is the scenario's folder
  { printf '#!/usr/bin/env bash\nprintf "%s %%s\\n" "$*" >>"$state/calls"\n' "$1" && cat; } >"$fake/$1"
  chmod +x "$fake/$1"
}
for tool in g++ git ninja pkg-config dpkg; do stand_in "$tool" <<<'exit 0'; done
stand_in id <<<'cat "$state/uid"'
stand_in sudo <<'END'
[[ -e "$state/sudo" ]] || exit 1
shift; exec "$@"
END
stand_in dpkg-query <<'END'
for name in "$@"; do grep -qx -- "$name" "$state/installed" && printf '%s=installed ' "$name"; done
exit 0
END
apt_get() {
stand_in apt-get <<'END'
case " $* " in
  *' update '*) rm -f "$state/apt_lists_old"; exit 0 ;;
esac
[[ ! -e "$state/apt_lists_old" && ! -e "$state/apt_broken" ]] || { echo 'E: Unable to locate'; exit 100; }
for name in "$@"; do printf '%s\n' "$name" >>"$state/installed"; done
END
}
apt_get
stand_in python3 <<'END'
case "$*" in
  -c*) exit 0 ;;
  '-m venv --clear '*) rm -rf "$4"; mkdir -p "$4/bin"; cp_to="$4/bin/python" ;;
  *) exit 1 ;;
esac
cat >"$cp_to" <<'PYTHON'
#!/usr/bin/env bash
printf 'pip %s\n' "$*" >>"$state/calls"
[[ "$*" != *--version* ]] || exit 0
[[ ! -e "$state/slow" ]] || sleep 10
[[ ! -e "$state/watched" ]] || { echo 'Downloading a wheel (200 MB)'; until_said ' so far; Downloading a wheel'; }
[[ ! -e "$state/no_network" ]] || { echo 'ERROR: no matching distribution'; exit 1; }
[[ ! -e "$state/no_cpu_wheel" || "$*" != *+cpu* ]] || { echo 'ERROR: no +cpu'; exit 1; }
venv="$(dirname "$(dirname "$0")")"
case "$*" in
  *assets.py\ --check*) [[ -e "$venv/assets/there" ]]; exit ;;
  *assets.py*) mkdir -p "$venv/assets" && touch "$venv/assets/there" ;;
  *torch==*) mkdir -p "$venv/lib/python3.11/site-packages/torch/"{lib,include/ATen}
    touch "$venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so" ;;
  *onednn*) mkdir -p "$venv/lib/cmake/dnnl" && touch "$venv/lib/cmake/dnnl/dnnl-config.cmake" ;;
esac
PYTHON
chmod +x "$cp_to"
END
stand_in cmake <<'END'
[[ ! -e "$state/cmake_broken" ]] || { echo 'CMake Error: something'; exit 1; }
[[ ! -e "$state/slow_cmake" ]] || sleep 1
if [[ "$1" == --install ]]; then
  [[ ! -e "$state/no_rights" ]] || { echo 'CMake Error: cannot create directory'; exit 1; }
  mkdir -p "$4/bin"
elif [[ "$1" == --build ]]; then
  [[ ! -e "$state/slow_build" ]] || sleep 3
  [[ ! -e "$state/watched" ]] || {
    printf '%s\n' '[1/4] Building a.o' "${NINJA_STATUS//%[ft]/3}Building c.o" 'c.cpp: warning: [9/9]'
    until_said 'building harness: 3 of 3'
  }
  [[ ! -e "$state/compiler_broken" ]] || { echo 'error: expected ;'; exit 1; }
  printf '#!/usr/bin/env bash\necho "harness $* in $PWD"; echo "$HARNESS_STARTED_AS" >"$state/started_as"; echo "$HARNESS_TELL $HARNESS_ARGUMENTS" >"$state/asked"; exit "${FAKE_EXIT:-0}"\n' >"$2/harness"
  chmod +x "$2/harness"
else
  mkdir -p build/release && touch build/release/build.ninja && rm -f build/release/harness
fi
END
stand_in ctest <<<'echo "ctest in $PWD"'

scenario() { # a fresh project whose path has a space, on a bare Debian as root
  name="$1"
  state="$(mktemp -d "$work/state.XXXX")"
  project="$state/a project"
  mkdir -p "$project" "$state/elsewhere"
  cp "$script" "$project/quickstart"
  echo 0 >"$state/uid"
  echo 'ID=debian' >"$state/os-release"
  touch "$state/installed" "$state/calls"
}
run() { # [VAR=VALUE...] -- ARGUMENT...
  local settings=()
  while [[ "$1" != -- ]]; do settings+=("$1") && shift; done
  shift
  (cd "$state/elsewhere" && env -i PATH="$fake" HOME="$state" state="$state" \
    HARNESS_OS_RELEASE="$state/os-release" ${settings[@]+"${settings[@]}"} \
    timeout --foreground 60 bash "$project/quickstart" "$@") >"$state/out" 2>"$state/err" </dev/null
  code=$?
}
expect() { # DESCRIPTION COMMAND...
  local what="$1"
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s: %s\n' "$name" "$what"
    sed 's/^/    /' "$state/out" "$state/err" "$state/calls"
  fi
}
exits() { [[ "$code" == "$1" ]]; }
calls() { grep -q -- "$1" "$state/calls"; }
no_calls() { ! calls "$1"; }
out() { grep -qF -- "$1" "$state/out"; }
err() { grep -qF -- "$1" "$state/err"; }
no_carriage_return() { ! grep -q $'\r' "$1"; }
on_terminal() { [[ "$(<"$state/terminal")" == *"$1"* ]]; }
one_line() { [[ "$(grep -c '' "$state/err")" == 1 ]]; }
last_line() { tail -n 1 "$state/err" | grep -qF -- "$1"; }
count() { [[ "$(grep -c -- "$1" "$state/calls")" == "$2" ]]; }

scenario 'a machine without python3'
mv "$fake/python3" "$fake/python3.later"
stand_in apt-get <<'END'
for name in "$@"; do printf '%s\n' "$name" >>"$state/installed"; done
# What Debian calls python3 cannot make an environment; python3-venv can.
[[ " $* " != *' python3-venv '* ]] || mv "$(dirname "$0")/python3.later" "$(dirname "$0")/python3"
END
run -- run
expect 'installs python3 with what makes environments' calls 'apt-get .* python3 .*python3-venv'
expect 'ends with 0 at the first call' exits 0
[[ -e "$fake/python3" ]] || mv "$fake/python3.later" "$fake/python3"
apt_get

scenario 'weights and data of inference tasks'
mkdir -p "$project/workloads/inference"
echo '{"net.pth": {"tasks": ["classify"]}}' >"$project/workloads/inference/assets.json"
run -- run --workload retinanet-train
expect 'are not needed elsewhere' no_calls 'assets.py'
touch "$state/no_network"
run -- run --workload classify
expect 'ends with 1 without a network' exits 1
expect 'and says what to do' last_line 'HARNESS_ASSETS=DIR'
rm "$state/no_network"
run HARNESS_NO_INSTALL=1 -- run --workload classify
expect 'are not got where nothing may be installed' exits 1
run HARNESS_ASSETS=/elsewhere -- run --workload classify
expect 'may be of one'"'"'s own' exits 0
run -- run --workload=classify
expect 'are got for a task' calls 'assets.py .*/.venv/assets classify'
: >"$state/calls"
run -- run --workload classify
expect 'once' no_calls 'assets.py [^-]'
for words in 'suite --tier quick' 'suite --tasks=other,classify' 'gate --ab-base "harness suite"'; do
  rm -rf "$project/.venv/assets"
  : >"$state/calls"
  read -ra parts <<<"$words"
  run -- "${parts[@]}"
  expect "are got for: $words" calls 'assets.py .*/.venv/assets classify'
done
for words in 'suite --tasks other' 'list classified' 'run --workload *'; do
  rm -rf "$project/.venv/assets"
  : >"$state/calls"
  set -f
  # shellcheck disable=SC2086  # words of a command
  run -- $words
  set +f
  expect "are not needed for: $words" no_calls 'assets.py'
done
rm -rf "$project/.venv/assets"
run -- bench --lockstep 'harness run --workload classify --lockstep'
expect 'are got for a command within a command' calls 'assets.py .*/.venv/assets classify'
run -- assets
expect 'or by themselves' err '.venv/assets'
expect 'which runs nothing' test ! -s "$state/out"

scenario 'the sources of LoadGen'
mkdir -p "$project/cmake"
touch "$project/cmake/get_loadgen.py"
run -- run --workload null
: >"$state/calls"
rm -rf "$project/.venv/loadgen.missed"
touch "$state/no_network"
run -- run --workload null
expect 'are asked for where they are missing' calls 'get_loadgen.py'
expect 'stop nothing where they cannot be had' exits 0
expect 'and it is said' err 'HARNESS_LOADGEN=DIR'
: >"$state/calls"
run -- run --workload null
expect 'are not asked for again within the hour' no_calls 'get_loadgen.py'
expect 'and how to try at once is said' last_line 'loadgen.missed'
touch -d '61 minutes ago' "$project/.venv/loadgen.missed"
run -- run --workload null
expect 'but later' calls 'get_loadgen.py'

scenario 'first and second call'
run -- run --workload 'a b'
expect 'runs harness in the folder of the caller' out "harness run --workload a b in $state/elsewhere"
expect 'ends with 0' exits 0
expect 'stdout is only what harness said' test "$(grep -c '' "$state/out")" = 1
expect 'installs libraries and data' calls 'apt-get .*install --no-install-recommends .*libfmt-dev.*fashion'
expect 'takes the CPU wheel' calls 'pip -m pip install .*torch==2.13.0+cpu'
expect 'builds only harness' calls 'cmake --build .* --target harness$'
expect 'several files at a time; warnings are no errors here' calls 'DHARNESS_BATCHES=ON -DHARNESS_WERROR=OFF'
: >"$state/calls"
expect 'announces the first build' err 'building harness'
run FAKE_EXIT=3 HARNESS_QUIET_SECONDS=50 -- run
expect 'hands on the exit code' exits 3
expect 'says nothing the second time' test ! -s "$state/err"
asked() { [[ "$(<"$state/asked")" == "$1" ]]; }
run HARNESS_TELL=file HARNESS_ARGUMENTS='["run","a b"]' -- run
expect 'hands on what the gate asks, and gives' asked 'file ["run","a b"]'
expect 'installs nothing' no_calls '^\(apt-get\|pip\|python3\|sudo\)'
expect 'configures nothing' no_calls 'cmake --\(fresh\|preset\)'
expect 'but lets the build look for what changed' calls 'cmake --build .* --target harness$'
touch "$state/slow_build"
run HARNESS_QUIET_SECONDS=1 -- run
expect 'announces a build that takes its time' err 'building harness'
expect 'and says how long it took' err 'built in'
rm "$state/slow_build"
run HARNESS_CMAKE_ARGS=-DX=1 CI=true -- run
expect 'other options configure anew' calls 'cmake --fresh --preset release .*WERROR=ON -DX=1'
rm "$project/.venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"
run -- run
expect 'a lost library is put back' exits 0
expect 'and said' err 'mending .venv'

scenario 'the name of the program in lines to paste'
started_as() { [[ "$(<"$state/started_as")" == "$1" ]]; }
called() { # COMMAND: as a person types it in the project's folder
  (cd "$project" && env -i PATH="$fake" HOME="$state" state="$state" \
    HARNESS_OS_RELEASE="$state/os-release" bash -c "$1") >"$state/out" 2>"$state/err" </dev/null
}
run -- run
expect 'is quoted where it has blanks' started_as "$(printf '%q' "$project/quickstart")"
called './quickstart run'
expect 'is as it was typed' started_as './quickstart'
called 'bash quickstart run'
expect 'is given to bash where it was' started_as 'bash quickstart'
chmod -x "$project/quickstart"
called 'bash ./quickstart run'
expect 'is given to bash where it cannot be run itself' started_as 'bash ./quickstart'
called "$(<"$state/started_as") run"
expect 'works as it stands' started_as 'bash ./quickstart'

scenario 'progress in a log'
touch "$state/watched"
run HARNESS_PROGRESS_SECONDS=1 -- run
expect 'ends with 0' exits 0
expect 'tells what pip does' err 'so far; Downloading a wheel (200 MB)'
expect 'counts what is built' err 'quickstart: building harness: 3 of 3'
expect 'rewrites no line' no_carriage_return "$state/err"
said="$(grep -c '' "$state/err")"
sleep 1.5
expect 'and is quiet when all is done' test "$(grep -c '' "$state/err")" = "$said"
rm "$state/watched"
run HARNESS_PROGRESS_SECONDS=1 HARNESS_QUIET_SECONDS=50 -- run
expect 'has nothing to say when nothing is to be built' test ! -s "$state/err"

scenario 'progress on a terminal'
touch "$state/watched"
cat >"$state/on_terminal" <<END
cd '$state/elsewhere' && env -i PATH='$fake' HOME='$state' state='$state' \
  HARNESS_OS_RELEASE='$state/os-release' timeout --foreground 60 bash '$project/quickstart' run
END
SHELL="$(type -P bash)" script -qfec "bash '$state/on_terminal'" "$state/terminal" >"$state/out" 2>"$state/err" </dev/null
code=$?
expect 'ends with 0' exits 0
expect 'rewrites one line' on_terminal $'\r\e[Kquickstart: building harness: 3 of 3'
expect 'and takes it away' on_terminal $'building harness: 3 of 3\r\e[K' # what follows the last one
expect 'before the command speaks' on_terminal 'harness run in '

scenario 'tests'
run -- test -R stats
expect 'builds everything' calls 'cmake --build .* --target all$'
expect 'runs ctest in the project' out "ctest in $project"
expect 'hands on the options' calls 'ctest --preset release .*-R stats'

scenario 'installing'
run -- --install 'pre fix'
expect 'ends with 0' exits 0
expect 'builds harness' calls 'cmake --build .* --target harness$'
expect 'a relative folder is the caller'"'"'s' test -d "$state/elsewhere/pre fix/bin"
expect 'says where LibTorch stays' err "LibTorch stays in $project/.venv/lib"
expect 'says that it is not on the PATH' err 'is not on your PATH'
run PATH="$fake:$state/p/bin" -- --install "$state/p"
expect 'unless it is' test "$(grep -c 'on your PATH' "$state/err")" = 0
touch "$state/no_rights"
run -- --install "$state/q"
expect 'a failure ends with 1' exits 1
expect 'and says what to do' last_line 'CMake could not install there (see'
: >"$state/calls"
run -- --install
expect 'no folder is an error' exits 1
expect 'in one line' one_line
expect 'before anything is set up' no_calls .

scenario 'no right to install'
echo 1000 >"$state/uid"
run -- run
expect 'ends with 1' exits 1
expect 'one line' one_line
expect 'names the command' err 'quickstart: missing packages: this account may not install them (run: sudo apt-get install --no-install-recommends nlohmann-json3-dev'
expect 'installs nothing' no_calls '^apt-get'
touch "$state/sudo"
run -- run
expect 'uses sudo that asks for nothing' calls '^sudo -n env .*apt-get'
expect 'and goes on' exits 0

scenario 'old package lists'
touch "$state/apt_lists_old"
run -- run
expect 'refreshes them once' count '^apt-get .*update' 1
expect 'and goes on' exits 0
scenario 'apt-get fails'
touch "$state/apt_broken"
run -- run
expect 'ends with 1' exits 1
expect 'says how to go on' last_line 'quickstart: Debian packages: apt-get failed (see '
expect 'shows the reason' err 'Unable to locate'

scenario 'nothing may be installed'
run HARNESS_NO_INSTALL=1 -- run
expect 'ends with 1' exits 1
expect 'says what is missing' err 'HARNESS_NO_INSTALL is set (run: sudo apt-get install'
run HARNESS_NO_INSTALL=1 HARNESS_SKIP_PACKAGES=1 -- run
expect 'nor wheels' err 'quickstart: .venv: HARNESS_NO_INSTALL is set and torch==2.13.0+cpu onednn'
expect 'one line' one_line
expect 'calls nothing' no_calls '^\(apt-get\|pip\|cmake\)'

scenario 'no CPU wheel'
touch "$state/no_cpu_wheel"
run -- run
expect 'takes the other one' calls 'torch==2.13.0$'
expect 'and goes on' exits 0
scenario 'no network'
touch "$state/no_network"
run -- run
expect 'ends with 1' exits 1
expect 'says how to go on' last_line 'with a LibTorch of your own set HARNESS_LIBTORCH=DIR'
rm "$state/no_network"
run -- run
expect 'a second try goes on' exits 0

scenario 'parts of your own'
run HARNESS_LIBTORCH=../nowhere -- run
expect 'a wrong folder ends with 1' exits 1
expect 'one line' one_line
expect 'names the variable' err 'quickstart: HARNESS_LIBTORCH=../nowhere: no LibTorch there'
run HARNESS_ONEDNN=/nowhere -- run
expect 'oneDNN as well' err 'quickstart: HARNESS_ONEDNN=/nowhere: no oneDNN there'
expect 'before anything is installed' test ! -s "$state/calls"
mkdir -p "$state/torch/lib" "$state/torch/include/ATen" "$state/dnn/lib/x86/cmake/dnnl"
touch "$state/torch/lib/libtorch_cpu.so" "$state/dnn/lib/x86/cmake/dnnl/dnnl-config.cmake"
run HARNESS_LIBTORCH=../torch CMAKE_PREFIX_PATH="/none:$state/dnn" HARNESS_FASHION_MNIST=/d -- run
expect 'goes on' exits 0
expect 'without pip' no_calls '^pip'
expect 'without the data package' no_calls '^apt-get.*fashion'
expect 'tells CMake' calls "DHARNESS_LIBTORCH=$state/elsewhere/../torch -Ddnnl_ROOT=$state/dnn "
run CMAKE_PREFIX_PATH="$state/torch:$state/dnn" -- run
expect 'both by CMAKE_PREFIX_PATH' calls "DHARNESS_LIBTORCH=$state/torch -Ddnnl_ROOT=$state/dnn "
expect 'still without pip' no_calls '^pip'

scenario 'half a .venv'
mkdir -p "$project/.venv/bin" && touch "$project/.venv/bin/python"
run -- run
expect 'makes it anew' calls '^python3 -m venv --clear'
expect 'and goes on' exits 0

scenario 'broken tools'
touch "$state/cmake_broken"
run -- run
expect 'CMake: ends with 1' exits 1
expect 'CMake: the last line' last_line 'quickstart: CMake: could not configure the build'
rm "$state/cmake_broken" && touch "$state/compiler_broken"
run -- run
expect 'compiler: ends with 1' exits 1
expect 'compiler: shows the error' err 'error: expected ;'
expect 'compiler: the last line' last_line 'quickstart: build: failed (see '
rm "$state/compiler_broken"
run -- run
expect 'mended, it goes on' exits 0

scenario 'another distribution'
echo 'ID=fedora' >"$state/os-release"
run -- run
expect 'names the packages' err 'by their Debian names these were not seen: nlohmann-json3-dev'
expect 'carries on' exits 0
expect 'without apt-get' no_calls '^apt-get'

scenario 'two at once'
touch "$state/slow_cmake"
(run -- run && cp "$state/err" "$state/err1" && exit "$code") &
run -- run
first=$code
wait $!
expect 'the one in the background ends with 0' exits "$first"
expect 'both end with 0' exits 0
expect 'one installation' count '^apt-get' 1
expect 'one configuration' count '^cmake --fresh' 1

scenario 'interrupted'
touch "$state/slow"
set -m
run -- run &
job=$!
for _ in {1..100}; do
  calls 'pip install' && break
  sleep 0.05
done
kill -INT -- "-$job"
wait "$job"
set +m
expect 'says that it can go on' last_line 'interrupted; the same command carries on from here'
said="$(grep -c '' "$state/err")"
sleep 1.5
expect 'says nothing afterwards' test "$(grep -c '' "$state/err")" = "$said"
rm "$state/slow"
run -- run
expect 'and does' exits 0

scenario 'questions'
run -- --help
expect 'help ends with 0' exits 0
expect 'help' out 'usage: ./quickstart COMMAND'
run --
expect 'nothing ends with 0' exits 0
expect 'tells what is missing' out 'missing: nlohmann-json3-dev'
expect 'changes nothing' no_calls '^\(apt-get\|pip\|cmake\)'

printf '%d passed, %d failed\n' "$passed" "$failed"
[[ "$failed" == 0 ]]
