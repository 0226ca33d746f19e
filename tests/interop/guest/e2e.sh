# SPDX-License-Identifier: BSD-3-Clause
# The end-to-end tests over verbs, as far as they do not drive iWARP by hand; with tiny inputs, for the machine is slow.
#   scripts/vm run tests/interop/guest/e2e.sh BUILD_FOLDER [FILE]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
shift
rxe_with_a_wire || vm_die 'no RoCE devices'
export RPCRDMA_BIN=$bin RPCRDMA_E2E_SCALE=tiny
export RPCRDMA_E2E_FABRIC=verbs RPCRDMA_E2E_ADDRESS=$left RPCRDMA_E2E_ADDRESS6=$left6 RPCRDMA_E2E_CLIENT=$right
before=$(vm_rdma_resources)

# The memory export is the same code above the fabric; what it adds is in trees and many_clients.
one=(commands/DirectoryExport trees) other=(exports lifecycle faults many_clients)
run() { python3 -B "$tests/e2e/run.py" "$@" 2>&1; }
if (($#)); then
  expect "$*" run "$@"
else
  # Two at a time, as the machine has two processors.
  run "${one[@]}" >/run/one.log &
  expect "${other[*]}" run "${other[@]}"
  expect "${one[*]}" wait $!
  cat /run/one.log
fi
expect 'nothing is left behind' resources_are "$before"
finish
