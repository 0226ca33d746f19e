# SPDX-License-Identifier: BSD-3-Clause
# Configures and builds a preset quietly; prints the errors of the log on failure. A preset names all its options, so that
# the cache of an earlier build does not matter. Needs ui.sh; runs in the project's top folder.

# seconds_since START: prints the whole seconds since START.
seconds_since() { echo $((SECONDS - $1)); }

# build_preset PRESET [-DNAME=VALUE]... [-- TARGET...]
build_preset() {
  local preset=$1 start=$SECONDS definitions=() targets=() log
  shift
  while (($#)) && [[ $1 != -- ]]; do definitions+=("$1") && shift; done
  if (($#)); then shift; fi
  if (($#)); then targets=(--target "$@"); fi
  # The log stays in the build folder.
  log=build
  [[ $preset == release ]] || log=build-$preset
  mkdir -p "$log" && log=$log/build.log
  local configured=0
  cmake --preset "$preset" "${definitions[@]}" >"$log" 2>&1 || configured=$?
  # If the compiler has changed, the first run of CMake applies only this change and drops the options.
  if ((configured != 0)) || grep -q 'require your cache to be deleted' "$log"; then
    configured=0
    cmake --preset "$preset" "${definitions[@]}" >>"$log" 2>&1 || configured=$?
  fi
  if ((configured != 0)) ||
    ! cmake --build --preset "$preset" "${targets[@]}" >>"$log" 2>&1; then
    grep -nE 'error|Error|FAILED|undefined reference' "$log" | head -n 20 >&2 || true
    tail -n 40 "$log" >&2
    fail "the build of preset '$preset' failed"
    return 1
  fi
  note "$preset: built in $(seconds_since "$start") s"
}
