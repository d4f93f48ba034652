#!/usr/bin/env bash
# .ci/nightly with stand-ins for the build and the program: which commit is the baseline, what each
# verdict comes to, that nothing is green without having run. No compiler, a few seconds.
# usage: nightly_test.sh PATH/TO/.ci/nightly
set -u -o pipefail

script="$(readlink -f -- "$1")"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0
mkdir -p "$work/tree/.ci" && cd "$work/tree" || exit 1
cp "$script" .ci/nightly
printf 'build/\nruns/\n' >.gitignore
# "Builds" a program that ends with what is asked for, workload by workload: VERDICT_focal_loss=4.
cat >quickstart <<'END'
#!/usr/bin/env bash
[[ "$1" != assets ]] || { touch "$(dirname "$0")/build/assets"; exit; }
[[ ! -e "$(dirname "$0")/broken" ]] || exit 1
[[ "$(git -C "$(dirname "$0")" log --format=%s -n 1)" != "${DOES_NOT_BUILD:-}" ]] || exit 1
mkdir -p "$(dirname "$0")/build/release"
cp "$(dirname "$0")/program" "$(dirname "$0")/build/release/harness"
END
cat >program <<'END'
#!/usr/bin/env bash
last=''
[[ "$1" == gate ]] || { touch "${!#}" && exit 0; }
workload="$(grep -oE 'workload [a-z-]+' <<<"$*" | head -n 1 | cut -d ' ' -f 2)"
if [[ "$*" == *"harness' suite"* ]]; then
  workload=suite
  [[ -n "${HARNESS_ASSETS:-}" ]] || exit 1
  [[ "$*" != *--anchor* ]] || exit 1
fi
variable="VERDICT_${workload//-/_}"
[[ "$*" != *--pool* || -z "${NO_POOL:-}" ]] || exit 1
# One that goes on, as a campaign that pools can: AGAIN_focal_loss=0.
if [[ "$*" == *--resume* ]]; then
  campaign="$(grep -oE 'resume [^ ]+' <<<"$*" | cut -d ' ' -f 2)"
  grep -qs pool "$campaign/plan.jsonl" || exit 1
  workload="$(basename "$campaign")"
  variable="AGAIN_${workload//-/_}"
  echo "$*" >>"${RESUMED:-/dev/null}"
fi
code="${!variable:-0}"
verdict='{}'
[[ $code != 5 ]] || verdict='{"verdict": "inconclusive"}'
[[ $code != 55 ]] || code=5 # not comparable
for word in "$@"; do
  [[ "$word" != *=*.gate.* ]] || echo "$verdict" >"${word#*=}"
  [[ "$last" != --out ]] || { mkdir -p "$word" && echo "$*" >"$word/plan.jsonl"; }
  last="$word"
done
exit "$code"
END
chmod +x quickstart program

commit() { # MESSAGE HOURS-AGO
  local at
  at="$(date -d "$2 hours ago" +%s)"
  git add -A && GIT_AUTHOR_DATE="$at +0000" GIT_COMMITTER_DATE="$at +0000" \
    git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m "$1"
}
git init -q -b main . && commit first 80
commit second 30
git checkout -q -b feature && commit feature 26
git checkout -q main && GIT_COMMITTER_DATE="$(date -d '2 hours ago' +%s) +0000" \
  git -c user.name=t -c user.email=t@example.org merge -q --no-ff -m merge feature
commit last 1

# expect DESCRIPTION CODE TEXT COMMAND...: TEXT stands in what it prints.
expect() {
  local description="$1" code="$2" text="$3" out
  shift 3
  out="$("$@" 2>&1)"
  local got=$?
  if [[ $got != "$code" ]] || ! grep -qF -- "$text" <<<"$out"; then
    printf 'FAILED %s (exit %s)\n    %s\n' "$description" "$got" "${out//$'\n'/$'\n'    }"
    failed=1
  fi
}
short() { git log --format=%h --abbrev=7 -n 1 --grep="^$1\$" --all; }
nightly=(.ci/nightly --workloads focal-loss --record record)

expect 'the day-old commit of the branch, not of what it merged' 4 "against $(short second)" \
  env VERDICT_focal_loss=4 "${nightly[@]}"
[[ ! -e record ]] || { echo 'FAILED a red night was recorded as green' && failed=1; }
expect 'green is recorded' 0 'exit code 0' "${nightly[@]}"
[[ "$(cat record)" == "$(git rev-parse HEAD)" ]] || { echo 'FAILED the record' && failed=1; }
commit 'slow' 0
expect 'a red night' 4 "against $(short last)" env VERDICT_focal_loss=4 "${nightly[@]}"
commit 'later' 0
expect 'after a red night the green commit stays the baseline' 4 "against $(short last)" \
  env VERDICT_focal_loss=4 "${nightly[@]}"
echo 'no commit' >record
expect 'a record that is none' 0 "against $(short second)" "${nightly[@]}"
expect 'a given baseline goes before the record' 0 "against $(short first)" \
  "${nightly[@]}" --baseline "$(short first)"
expect 'inconclusive' 5 'exit code 5' env VERDICT_focal_loss=5 AGAIN_focal_loss=5 "${nightly[@]}"
expect 'a regression goes before what is inconclusive' 4 '2 of 2 gates ran' env VERDICT_focal_loss=5 AGAIN_focal_loss=5 \
  VERDICT_null=4 .ci/nightly --workloads 'focal-loss null'
pair=(.ci/nightly --workloads 'focal-loss null' --baseline "$(short first)")
asked() { # DESCRIPTION PATTERN: what the second go was asked, one line each
  grep -qE -- "$2" resumed || { printf 'FAILED %s: %s\n' "$1" "$(cat resumed)" && failed=1; }
}
export RESUMED="$work/tree/resumed"
expect 'what is inconclusive goes on once more the same night' 0 '2 of 2 gates ran, exit code 0' \
  env VERDICT_focal_loss=5 AGAIN_focal_loss=0 "${pair[@]}" --out once
asked 'in the time that is left' '--budget (8[89]|90) --resume .*/focal-loss'
grep -qF inconclusive once/focal-loss.gate.json && { echo 'FAILED an old verdict' && failed=1; }
[[ ! -e once/focal-loss.again.gate.json ]] || { echo 'FAILED two verdicts of one night' && failed=1; }
rm resumed
expect 'each of two in half of it' 0 'exit code 0' \
  env VERDICT_focal_loss=5 VERDICT_null=5 AGAIN_focal_loss=0 "${pair[@]}"
asked 'the first in half' '--budget 4[45] --resume .*/focal-loss'
asked 'the second in all' '--budget (8[89]|90) --resume .*/null'
rm resumed
expect 'and may be red then' 4 'exit code 4' env VERDICT_focal_loss=5 AGAIN_focal_loss=4 "${pair[@]}"
expect 'or invalid' 1 '1 of 2 gates ran' env VERDICT_focal_loss=5 AGAIN_focal_loss=3 "${pair[@]}"
echo none >record.open
expect 'what fails in going on did not run' 1 '1 of 2 gates ran' \
  env VERDICT_focal_loss=5 AGAIN_focal_loss=1 "${pair[@]}" --record record --out failing
[[ ! -s record.open || "$(cat record.open)" == none ]] || { echo 'FAILED it would fail each night' && failed=1; }
grep -qF inconclusive failing/focal-loss.gate.json || { echo 'FAILED the verdict before it is lost' && failed=1; }
expect 'a night that goes on the next one' 5 'exit code 5' \
  env VERDICT_focal_loss=5 AGAIN_focal_loss=5 "${pair[@]}" --record record --out open
expect 'and fails then' 1 '1 of 2 gates ran' env AGAIN_focal_loss=1 "${pair[@]}" --record record
[[ "$(cat record.open)" == none ]] || { echo 'FAILED it would fail each night, too' && failed=1; }
expect 'an interrupt of the second go' 2 'interrupted' \
  env VERDICT_focal_loss=5 AGAIN_focal_loss=2 "${pair[@]}" --record record
grep -qE '^focal-loss .*/focal-loss$' record.open || { echo 'FAILED what was interrupted is lost' && failed=1; }
rm record.open
expect 'hides nothing that is red' 4 'exit code 4' \
  env VERDICT_focal_loss=5 AGAIN_focal_loss=2 VERDICT_null=4 "${pair[@]}"
for options in '--minutes 0' '--pairs 30' '--budget 20'; do
  # shellcheck disable=SC2086  # two words
  expect "none with $options, and nothing pools" 5 '2 of 2 gates ran' \
    env VERDICT_focal_loss=5 AGAIN_focal_loss=0 NO_POOL=1 "${pair[@]}" $options
done
expect 'one where both are asked for' 0 'exit code 0' \
  env VERDICT_focal_loss=5 AGAIN_focal_loss=0 "${pair[@]}" --budget 20 --minutes 60
expect 'none of what cannot be compared' 5 '2 of 2 gates ran' \
  env VERDICT_focal_loss=55 AGAIN_focal_loss=0 "${pair[@]}"
expect 'a workload twice' 1 'null twice' .ci/nightly --workloads 'null focal-loss null'
expect 'minutes that are none' 1 'no whole number' .ci/nightly --minutes -3
expect 'what did not run goes before a regression' 1 '1 of 2 gates ran' env VERDICT_focal_loss=4 \
  VERDICT_null=1 .ci/nightly --workloads 'focal-loss null'
expect 'an interrupt' 2 'interrupted' env VERDICT_focal_loss=2 "${nightly[@]}"
expect 'and one of what the night before could not tell' 2 'interrupted' env AGAIN_focal_loss=2 "${nightly[@]}"
expect 'an anchor that no longer builds costs no verdict' 0 'the anchor '"$(short first)"' does not build' \
  env DOES_NOT_BUILD=first "${nightly[@]}" --anchor "$(short first)"
expect 'and a regression is found all the same' 4 'exit code 4' \
  env DOES_NOT_BUILD=first VERDICT_focal_loss=4 "${nightly[@]}" --anchor "$(short first)"
[[ ! -e build/assets ]] || { echo 'FAILED assets were got for workloads without any' && failed=1; }
expect 'a suite, which has no anchor' 4 '2 of 2 gates ran' env VERDICT_suite=4 \
  .ci/nightly --workloads 'null suite' --anchor "$(short first)"
expect 'a suite does not go on the same night' 5 'exit code 5' \
  env VERDICT_suite=5 AGAIN_suite=0 .ci/nightly --workloads suite
expect 'a baseline that does not build' 1 'does not build' \
  env DOES_NOT_BUILD=first "${nightly[@]}" --baseline "$(short first)"
expect 'no workload' 1 'nothing would be gated' .ci/nightly --workloads ' '
expect 'an unknown commit' 1 'no such commit' .ci/nightly --baseline nonsense
expect 'an unknown option' 1 'unknown' .ci/nightly --nonsense x
expect 'an option without its value' 1 'without its value' .ci/nightly --budget
expect 'help' 0 'exit code: 0 no regression' .ci/nightly --help
touch broken
expect 'a commit that does not build' 1 'does not build' "${nightly[@]}"
rm broken
mkdir elsewhere && cd elsewhere || exit 1
expect 'an --out of the caller' 0 "files in $PWD/out" ../.ci/nightly --workloads null --out out

# On GitHub a night that could not tell is kept as well, with the campaign that the next one goes on with.
workflow="$(dirname -- "$script")/../.github/workflows/nightly.yml"
kept="$(grep -B 1 -A 5 'uses: actions/cache/save' "$workflow")"
for word in 'if: always()' '            record' '            nights'; do
  grep -qF -- "$word" <<<"$kept" || { printf 'FAILED the workflow keeps no %s\n' "$word" && failed=1; }
done

[[ $failed == 0 ]] && echo 'nightly_test: all as expected'
exit "$failed"
