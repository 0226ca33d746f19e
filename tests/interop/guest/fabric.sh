# SPDX-License-Identifier: BSD-3-Clause
# The fabric's conformance tests over verbs. Unless $VM_MORE is set, also tests with other peers: on rxe with the
# kernel's NFS server, on siw with hand-driven iWARP peers. In the virtual machine:
#   scripts/vm run [--siw] tests/interop/guest/fabric.sh BUILD_FOLDER rxe|siw [GTEST_OPTION...]
program=$1/bin/interop_fabric device=$2
shift 2

# The tests that are left out, and why: most need functions that the soft devices of Linux 6.1 lack.
left_out=(
  # To the peer an abort looks like an orderly end; a side that has posted no receive is not notified of a Send.
  # VerbsTest tests both cases, as far as rdma_cm allows.
  '*AbortFlushesInOrder*' '*ThePeersAbortFlushesToo*' '*SendsWithoutAReceive*'
  # 200 handshakes at once overrun the emulated machine's management queue. VerbsTest has a test with 40.
  '*TwoHundredConnections*'
  # Needs a neighbour: e2e.sh provides one.
  '*Neighbour*'
)
case $device in
  rxe)
    left_out+=(
      # Accesses through a window are checked only against the bounds of the memory region.
      '*WritesBeyondTheEnd*' '*WritesBeforeTheStart*' '*ReadsBeyondTheEnd*'
      # The sender of an invalidation that fails sees success; a window of another connection is invalidated.
      '*ThePeerInvalidatesWhatIsNotThere*' '*ThePeerInvalidatesAHandleOfAnotherConnection*'
      # A Read whose window is invalidated during the Read is repeated for ever instead of refused.
      '*InvalidationWaitsForReadsOnTheirWay*'
    )
    ;;
  siw)
    left_out+=(
      # The reason of a Terminate does not reach the program on either side, and Writes complete when sent.
      '*BeyondTheEnd*' '*BeforeTheStart*' '*OffsetsThatWrap*' '*ToAReadableWindow*' '*FromAWritableWindow*'
      '*UnknownHandles*' '*HandlesOfOtherConnections*' '*InvalidatedLocally*' '*ReadsAfterInvalidation*'
      '*InvalidationWaitsFor*' '*SendsLongerThanTheReceive*'
      # A connector does not learn the read depths of its peer.
      '*ReadDepthsAreNegotiated*'
      # A connector fails if it receives a message together with the MPA reply. The acceptor must not
      # send first (RFC 5044 section 7.1.2), but its device does not prevent it.
      '*TheAcceptorMaySendFirst*'
      # One work queue does all handshakes, and drops those that wait too long.
      '*FortyConnectionsAtOnce*'
    )
    export RPCRDMA_TEST_IWARP=1
    ;;
  *) vm_die 'rxe or siw?' ;;
esac
"vm_$device"

before=$(vm_rdma_resources)
status=0
# conformance ADDRESS TESTS [GTEST_OPTION...]
conformance() {
  echo "== $device at $1: $2"
  RPCRDMA_TEST_VERBS_ADDRESS=$1 "$program" --gtest_brief=1 --gtest_color=no \
    --gtest_filter="$2-$(IFS=:; echo "${left_out[*]}")" "${@:3}" || status=1
}
# IPv6 differs for the device only in the set-up of a connection.
if [[ -n ${VM_MORE-} ]]; then
  export RPCRDMA_TEST_CALLS=100000
  conformance "$VM_ADDRESS6" '*' "$@"
else
  conformance "$VM_ADDRESS" '*' "$@"
  conformance "$VM_ADDRESS6" '*/FabricTest.*' "$@"
fi
# Tests the fabric against the kernel's server, which invalidates the fabric's windows. siw has no windows.
if [[ -z ${VM_MORE-} && $device == rxe ]]; then
  vm_ext4 /srv/knfsd 64
  seq 1 20000 >/srv/knfsd/numbers
  vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
  RPCRDMA_TEST_VERBS_ADDRESS=$VM_ADDRESS RPCRDMA_TEST_PORT=20049 RPCRDMA_TEST_EXPORT=/srv/knfsd \
    "${program%/*}/interop_knfsd" --gtest_brief=1 --gtest_color=no --gtest_filter='Peer.*' || status=1 # rxe.sh has the rest
  rpc.nfsd 0
elif [[ -z ${VM_MORE-} ]]; then
  RPCRDMA_BIN=${program%/*} RPCRDMA_E2E_SCALE=tiny RPCRDMA_E2E_FABRIC=verbs RPCRDMA_E2E_PEER=iwarp \
    RPCRDMA_E2E_ADDRESS=$VM_ADDRESS python3 -B "${BASH_SOURCE[0]%/*}/../../e2e/run.py" read_sinks 2>&1 || status=1
fi
# A closed connection lingers in the kernel for a moment.
if ! vm_until 120 eval '[[ $(vm_rdma_resources) == "$before" ]]'; then
  echo "left behind: $(vm_rdma_resources) (before: $before)"
  status=1
fi
exit $status
