# SPDX-License-Identifier: BSD-3-Clause
# The end-to-end tests over verbs, with tiny inputs as the machine is slow. Tests of iWARP alone skip themselves with a
# reason. In the virtual machine:
#   scripts/vm run tests/interop/guest/e2e.sh BUILD_FOLDER programs|peers|FILE...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/client.sh"
shift
rxe_with_a_wire || vm_die 'no RoCE devices'
modprobe -a loop ext4
export RPCRDMA_BIN=$bin RPCRDMA_E2E_SCALE=tiny
export RPCRDMA_E2E_FABRIC=verbs RPCRDMA_E2E_ADDRESS=$left RPCRDMA_E2E_ADDRESS6=$left6 RPCRDMA_E2E_CLIENT=$right
# The exports of the tests are on ext4.
vm_ext4 /srv/e2e 900
export TMPDIR=/srv/e2e
before=$(vm_rdma_resources)

# Two lists for each machine, as it has two processors: tests of the programs, and tests with a hand-driven peer. Those of
# `host` need no device, and run outside of the machines only.
declare -A first=([host]='service_manager tirpc dissector ipoib' [programs]='commands' [peers]='hostile_handles crash tcp chunks troubles duplicates')
declare -A second=([programs]='trees exports lifecycle faults many_clients'
  [peers]='copies config identity hostile_rpc hostile_peers hostile_fabric hostile_setup read_sinks hung capture bench hostile_server pressure')

run() { python3 -B "$tests/e2e/run.py" "$@" 2>&1; }
every_file_has_its_turn() {
  local listed
  listed=$(printf '%s\n' ${first[@]} ${second[@]} | sort)
  same_output "cd '$tests/e2e' && ls test_*.py | sed 's/^test_//; s/\.py$//' | sort" <(echo "$listed")
}

# For the host to check.
capture() {
  mkdir -p /srv/ours
  start_nfsd verbs $left
  start_capture e2e-rxe.pcap left udp port 4791
  head -c 1500000 "$bin/rpcrdma-nfsd" >/run/piece
  client_for_the_capture verbs nfs://$left:20050/ours /srv/ours /run/piece
  stop_capture
  stop_nfsd
}

if [[ -v first[$1] ]]; then
  run ${first[$1]} >"$VM_OUT/first.log" &
  other=$!
  expect "${second[$1]}" run ${second[$1]}
  expect "${first[$1]}" wait "$other"
  cat "$VM_OUT/first.log"
else
  expect "$*" run "$@"
fi
case $1 in
  programs) capture ;;
  peers)
    expect 'every test file is in a list' every_file_has_its_turn
    RPCRDMA_TEST_NEIGHBOUR=$left RPCRDMA_TEST_VERBS_ADDRESS=$right expect 'neighbours that are not known yet' timeout 60 \
      "$bin/interop_fabric" --gtest_brief=1 --gtest_color=no --gtest_filter='*Neighbour*'
    ;;
esac
expect 'nothing is left behind' resources_are "$before"
finish
