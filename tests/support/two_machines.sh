#!/usr/bin/env bash
# Runs a command where two machines, 10.77.0.1 and 10.77.0.2, can be reached: network namespaces of this one,
# with a cable between them that carries so much (as `tc` writes it, 1gbit) and, where MILLISECONDS are given, takes so
# long for each way. They end with the command.
# In the command's environment HARNESS_SSH takes ADDRESS COMMAND as ssh does, and `ip -n ADDRESS link set cable
# down` breaks the cable. Ends with 77 where this system does not allow such namespaces.
# usage: two_machines.sh RATE[/MILLISECONDS] COMMAND [ARGUMENT]...
set -eu

if [[ "${1:-}" == --on ]]; then
  exec nsenter --net="/run/netns/$2" sh -c "$3"
fi

if [[ -z "${HARNESS_TWO_MACHINES:-}" ]]; then
  for tool in unshare nsenter ip tc; do command -v "$tool" >/dev/null || exit 77; done
  unshare --user --map-root-user --net --mount true 2>/dev/null || exit 77
  export HARNESS_TWO_MACHINES=yes
  exec unshare --user --map-root-user --net --mount -- bash "$0" "$@"
fi

rate="${1%/*}"
delay=''
[[ "$1" != */* ]] || delay="${1#*/}"
shift

# A cable between the two machines, of two interfaces of that name.
lay_cable() {
  if [[ -z "$delay" ]]; then
    ip -n 10.77.0.1 link add cable type veth peer name cable netns 10.77.0.2
    return
  fi
  local said
  mkfifo /run/said
  python3 "$(dirname -- "$(readlink -f "$0")")/slow_cable.py" 10.77.0.1 10.77.0.2 "$delay" >/run/said &
  cable_process=$!
  read -r said </run/said && [[ "$said" == ready ]]
}

cable_process=''
trap '[[ -z "$cable_process" ]] || kill "$cable_process" 2>/dev/null || true' EXIT
{
  mount -t tmpfs none /run
  mkdir /run/netns
  for address in 10.77.0.1 10.77.0.2; do ip netns add "$address"; done
  lay_cable
  for address in 10.77.0.1 10.77.0.2; do
    ip -n "$address" addr add "$address/24" dev cable
    ip -n "$address" link set cable up
    ip -n "$address" link set lo up
    tc -n "$address" qdisc add dev cable root tbf rate "$rate" burst 256kb latency 50ms
  done
} 2>/dev/null || exit 77
HARNESS_SSH="bash $(readlink -f "$0") --on"
export HARNESS_SSH
"$@"
