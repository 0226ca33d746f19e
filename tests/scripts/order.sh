#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# order.sh TOP: checks that scripts/demo, scripts/bench and scripts/test work in any order in one clone. Each of them
# finds a build folder whose cache switches tests and benchmarks off. Nevertheless the targets that the script builds
# must exist. Nothing is compiled: a stand-in for cmake configures the build, looks the targets up instead of building
# them, and fails, which ends the script.
set -euo pipefail
top=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone=$work/clone
mkdir "$clone" "$work/bin"
find "$top" -mindepth 1 -maxdepth 1 ! -name .git ! -name 'build*' -exec cp -r {} "$clone" \;

cat >"$work/bin/cmake" <<END
#!/usr/bin/env bash
if [[ \$1 != --build ]]; then exec "$(command -v cmake)" "\$@"; fi
shift 3
if [[ \${1:-} == --target ]]; then shift; else set -- all; fi
for target; do
  if ninja -C "$clone/build" -t query "\$target" >/dev/null; then found=exists; else found=missing; fi
  echo "\$target \$found" >>"$work/targets"
done
exit 1
END
# Stand-ins: dpkg-query reports every package as installed, and clang-format accepts everything.
printf '#!/bin/sh\nfor name; do echo "$name installed"; done\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\n' >"$work/bin/clang-format"
chmod +x "$work"/bin/*

# check SCRIPT TARGET [OPTION]...: checks that the script builds TARGET, perhaps with other targets, and that all of
# these exist.
check() {
  local script=$1 wanted=$2
  shift 2
  (cd "$clone" && cmake --preset release -DRPCRDMA_TESTS=OFF -DRPCRDMA_UNIT_TESTS=OFF -DRPCRDMA_BENCH=OFF >"$work/log" 2>&1) ||
    { cat "$work/log"; exit 1; }
  : >"$work/targets"
  PATH=$work/bin:$PATH "$clone/scripts/$script" "$@" >"$work/log" 2>&1 || true
  if grep -q 'of free \(memory\|disk space\)' "$work/log"; then
    echo "$script: skipped: $(grep 'of free' "$work/log")"
  elif ! grep -qx "$wanted exists" "$work/targets" || grep -q ' missing$' "$work/targets"; then
    cat "$work/log" "$work/targets"
    echo "FAILED: $script does not build on the cache that another script leaves"
    exit 1
  else
    echo "ok: $script: $(wc -l <"$work/targets") targets"
  fi
}

check demo rpcrdma-nfsd
check bench rpcrdma-bench --quick
check test all --quick
for option in RPCRDMA_TESTS RPCRDMA_UNIT_TESTS; do
  grep -q "^$option:BOOL=ON" "$clone/build/CMakeCache.txt" ||
    { echo "FAILED: scripts/test --quick configures a build without $option"; exit 1; }
done
