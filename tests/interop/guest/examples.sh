# SPDX-License-Identifier: BSD-3-Clause
# Programs of users over verbs: the examples, and the sample of tests/package, which tests/package has built outside of the
# tree with the installed library, shared and static.
#   scripts/vm run tests/interop/guest/examples.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
built=$1/package
plugins=$(dirname "$(find "$built/root" -name librpcrdma-verbs.so)")
rxe_with_a_wire

# try_out FOLDER: runs the example in FOLDER, which is $built/NAME-HOW/KIND. HOW is cmake or pkgconfig, KIND is shared
# or static.
try_out() {
  local example how=${1%/*}
  how=${how##*/}
  example=${how%-*}
  # librpcrdma.so finds the plug-in beside itself; a program that is linked statically needs the variable.
  unset RPCRDMA_PLUGIN_DIR
  [[ $1 != */static ]] || export RPCRDMA_PLUGIN_DIR=$plugins
  if [[ $example == sample ]]; then
    expect "$how, ${1##*/}" "$1/roundtrip" verbs "$left"
  else
    expect "$how, ${1##*/}" python3 -B "$tests/examples/run.py" "$1" "$example" verbs "$left"
  fi
}

part 'programs built outside of the tree'
for folder in "$built"/*/shared "$built"/*/static; do try_out "$folder"; done
[[ -d $built/sample-cmake/static ]] || vm_die 'tests/package has built nothing'
finish
