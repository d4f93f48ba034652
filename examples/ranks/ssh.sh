#!/usr/bin/env bash
# One run on machines that ssh reaches, one rank on each:
#   examples/ranks/ssh.sh 10.0.0.1 10.0.0.2 -- --workload retinanet-train --out runs/two
# The first one is rank 0: a name or address by which the others reach it. Program and folder are the same
# on all. HARNESS is another program than ./build/release/harness, HARNESS_PORT another port than 29400,
# HARNESS_SSH another command than ssh.
set -eu

hosts=()
while (($#)) && [[ "$1" != -- ]]; do
  hosts+=("$1")
  shift
done
if ((${#hosts[@]} < 2)) || (($# < 2)); then
  echo "usage: $0 HOST HOST… -- OPTIONS of 'harness run'" >&2
  exit 1
fi
shift

program="$(readlink -f "${HARNESS:-build/release/harness}")"
printf -v command '%q ' "$program" run "$@" \
  --rendezvous "${hosts[0]}:${HARNESS_PORT:-29400}" --world "${#hosts[@]}"

# What each machine does. The key comes by standard input: a command line is there for all to see. The end of
# that input, when this script is stopped or its connection lost, ends the rank behind its step.
remote() {
  printf 'cd %q || exit 1; ' "$PWD"
  printf '%s' 'read -r HARNESS_RUN_KEY || exit 1; export HARNESS_RUN_KEY; exec 3<&0; '
  printf '%s --rank %s </dev/null 3<&- & ' "$command" "$1"
  # shellcheck disable=SC2016  # for the other machine's shell
  printf '%s' 'run=$!; { cat <&3; kill -TERM $run; } >/dev/null 2>&1 & wait $run; code=$?; kill $! 2>/dev/null; exit $code'
}

lines="$(mktemp -d)"
trap 'rm -rf "$lines"' EXIT
processes=()
for rank in "${!hosts[@]}"; do
  mkfifo "$lines/$rank"
  ${HARNESS_SSH:-ssh} "${hosts[rank]}" "$(remote "$rank")" <"$lines/$rank" &
  processes+=($!)
done
key="$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')"
inputs=()
for rank in "${!hosts[@]}"; do
  exec {input}>"$lines/$rank"
  inputs+=("$input")
  printf '%s\n' "$key" >&"$input"
done
stop() { for input in "${inputs[@]}"; do exec {input}>&-; done; }
trap stop INT TERM HUP

# All end together; rank 0 says how. A signal ends the waiting, not the ranks.
code=0
for process in "${processes[@]}"; do
  ended=0
  wait "$process" || ended=$?
  while ((ended > 128)) && kill -0 "$process" 2>/dev/null; do
    ended=0
    wait "$process" || ended=$?
  done
  if [[ "$process" == "${processes[0]}" ]]; then code="$ended"; fi
done
exit "$code"
