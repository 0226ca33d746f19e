# SPDX-License-Identifier: BSD-3-Clause
# Runs ctest and adds up its counts. Needs ui.sh; runs in the project's top folder.
passed=0
failed=0
skipped=0
summary=()
failures_shown=() # printed again at the end
# suite_limit_s: prints the seconds after which ctest starts no more tests and ends the running ones, which fail. If
# CI is set, all suites together take about 80 minutes at most: their results must appear before a limit of 90 minutes.
suite_limit_s() {
  if [[ -z ${CI:-} ]]; then echo 3600; else echo $((SECONDS < 4740 ? 4800 - SECONDS : 60)); fi
}

# count_check NAME STATUS adds a check that is not a ctest test.
count_check() {
  if (($2 == 0)); then ((++passed)); else ((++failed)); fi
  summary+=("$(printf '%-12s %s' "$1" "$( (($2 == 0)) && echo passed || echo FAILED)")")
}

# what_failed reads ctest's output and prints the lines that give the cause of each failure, after the test's name.
what_failed() {
  awk '
    / Test +#[0-9]+: / {
      test = ""
      if (match($0, /\*\*\*/)) { test = $0; sub(/.* Test +#[0-9]+: /, "", test); sub(/[ .]+\*\*\*.*/, "", test) }
      more = 0
      if (test != "") { why = $0; sub(/.*\*\*\*/, "", why); print test ": " why }
      next
    }
    /^ +Start +[0-9]+: / || /^-*$/ || test == "" { next }
    /^FAILED: |: Failure$|^(FAIL|ERROR): |Sanitizer: |: runtime error: / { more = 6 }
    /^ok: |^== |^\[/ { more = 0 }
    more > 0 || /^[A-Za-z_.]*(Error|Exception): / { print test ": " substr($0, 1, 300); --more }'
}

# run_suite NAME PRESET CTEST_OPTION... runs a suite and adds the counts that ctest prints. With suite_filtered=1 a suite
# without a matching test does not fail.
suite_filtered=0
run_suite() {
  local name=$1 preset=$2 log status=0 start=$SECONDS
  shift 2
  log=$(mktemp)
  local launcher=()
  # The thread sanitizer of Clang 14 fails with wide address randomization.
  if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then launcher=(setarch -R); fi
  "${launcher[@]}" ctest --preset "$preset" --stop-time "$(date -d "+$(suite_limit_s) seconds" +%H:%M:%S)" "$@" \
    >"$log" 2>&1 || status=$?

  if ((suite_filtered)) && grep -q '^No tests were found' "$log"; then
    rm -f "$log"
    note 'nothing matches'
    return
  fi
  local failures total left_out=0
  failures=$(sed -nE 's/.* tests passed, ([0-9]+) tests failed out of [0-9]+$/\1/p' "$log" | tail -n 1)
  total=$(sed -nE 's/.* tests failed out of ([0-9]+)$/\1/p' "$log" | tail -n 1)
  left_out=$(grep -cE '^[[:space:]]+[0-9]+ - .* \((Skipped|Disabled)\)$' "$log") || true
  if ((status != 0)) || [[ -z $total || $total == 0 ]]; then
    grep -vE '^ *(Start|[0-9]+/[0-9]+ Test +#.* Passed) ' "$log" | tail -n 200
    local line
    while IFS= read -r line; do failures_shown+=("$line"); done < <(what_failed <"$log" | head -n 40)
  else
    sed -n '/tests passed,/,$p' "$log" | grep -v '^$'
  fi
  rm -f "$log"
  # With a sanitizer a ctest test is a whole program, in which single tests may be skipped.
  local inside=0
  if [[ $preset != release ]]; then
    inside=$(grep -cE '^\[  SKIPPED \] .* \([0-9]+ ms\)$' "build-$preset/Testing/Temporary/LastTest.log") || true
  fi
  # A run that aborted, or ran no test, counts as a failure.
  if [[ -z $total || $total == 0 ]]; then failures=1 total=1; fi
  if ((status != 0 && failures == 0)); then failures=1 total=$((total + 1)); fi
  ((passed += total - failures - left_out)) || true
  ((failed += failures)) || true
  ((skipped += left_out + inside)) || true
  summary+=("$(printf '%-12s %d passed, %d failed, %d skipped, %d s' "$name" $((total - failures - left_out)) \
    "$failures" $((left_out + inside)) $((SECONDS - start)))")
}
