# SPDX-License-Identifier: BSD-3-Clause
# The end-to-end tests over verbs, with tiny inputs as the machine is slow. Tests of iWARP alone skip themselves with a
# reason. The selections `default` and `capture` make captures; `more` and `rights` run tests over iwarp that need many
# rights. In the virtual machine:
#   scripts/vm run tests/interop/guest/e2e.sh BUILD_FOLDER default|more|capture|rights|FILE...
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

# The lists name test files, classes and methods. In the tests of `programs` and `peers`, except some of `later`, the
# device carries messages or data, or ends connections. The selection `default` runs these two lists without the tests
# of `later`. `more` runs all other tests except those of `host`, which run only outside of virtual machines (but
# links.sh runs `ipoib`).
host=(service_manager tirpc dissector ipoib)
# The two lists take about the same time.
programs=(commands/MemoryExport trees lifecycle many_clients)
peers=(chunks duplicates/OverRdma faults hostile_peers hostile_rpc read_sinks)
# Tests of `programs` and `peers` that take long in an emulated machine and resemble another test, or that need no
# device.
later=(commands/MemoryExport.test_sizes_around_the_limits trees/Trees.test_with_crc trees/Trees.test_real_files_to_memory
  lifecycle/WithoutRdmaCore lifecycle/Lifecycle.test_help lifecycle/Lifecycle.test_usage_errors
  faults/Faults.test_sigpipe_in_mid_put faults/Faults.test_nobody_reads_the_output)

python3 -B "$tests/e2e/run.py" --list | cut -d ' ' -f 1 >/run/tests
# tests_of NAME...: prints the tests of the named files and classes, and the named methods.
tests_of() { grep -E "^($(IFS='|' && echo "${*//./\\.}"))([/.]|\$)" /run/tests; }
without() { grep -vxF -f <(tests_of "$@"); }
every_name_is_of_a_test() {
  local name
  for name in "${host[@]}" "${programs[@]}" "${peers[@]}" "${later[@]}"; do tests_of "$name" >/dev/null || { echo "$name" && return 1; }; done
}
run() { python3 -B "$tests/e2e/run.py" "$@" 2>&1; }
# run_both WHAT TESTS WHAT TESTS: runs two lists of tests at the same time, as the machine has two processors.
run_both() {
  run $2 >"$VM_OUT/first.log" &
  local other=$!
  expect "$3" run $4
  expect "$1" wait "$other"
  cat "$VM_OUT/first.log"
}

# Captures the traffic of rpcrdma-nfs with rpcrdma-nfsd, and of a service that calls its client. It is captured on the
# wire, and by each of the two sides. The host checks these captures.
capture() {
  captures=/run/captures
  mkdir -p /srv/ours $captures
  start_nfsd verbs $left --capture $captures/server.pcapng
  start_capture e2e-rxe.pcap left udp port 4791
  # The file has no zero bytes: tshark takes a packet whose data begins with an EtherType and two zero bytes for
  # Ethernet over InfiniBand.
  seq -w 1 300000 | head -c 1500000 >/run/piece
  client_for_the_capture verbs nfs://$left:20050/ours /srv/ours /run/piece
  reverse_calls 20
  stop_capture
  stop_nfsd
  cp -r $captures "$VM_OUT/"
}

# Tests over iwarp that need more rights than most containers have; none may skip itself.
rights() {
  modprobe -a fuse nf_tables nft_numgen
  unset RPCRDMA_E2E_FABRIC RPCRDMA_E2E_ADDRESS RPCRDMA_E2E_ADDRESS6 RPCRDMA_E2E_CLIENT
  expect 'hung and slow file systems, lost packets' without_skips hung observed/SlowDisk observed/LossyLink
}
without_skips() {
  run "$@" >/run/rights.log
  local status=$?
  cat /run/rights.log
  ((status == 0)) && ! grep -q skipped /run/rights.log
}

# reverse_calls COUNT
reverse_calls() {
  "$bin/e2e_reverse" serve verbs@$left:20055 $captures/reverse-server.pcapng >/run/reverse.out 2>>/run/nfsd.err &
  local server=$!
  vm_until $patience grep -qs ^ready /run/reverse.out || vm_die 'e2e_reverse does not start'
  expect "$1 calls of a server to its client" timeout $patience "$bin/e2e_reverse" call verbs@$left:20055 $captures/reverse.pcapng "$1"
  kill -TERM $server
  expect 'that server exits with 0' wait $server
}

case $1 in
  default)
    expect 'every name in the lists is that of a test' every_name_is_of_a_test
    run_both "${programs[*]}" "$(tests_of "${programs[@]}" | without "${later[@]}")" \
      "${peers[*]}" "$(tests_of "${peers[@]}" | without "${later[@]}")"
    capture
    RPCRDMA_TEST_NEIGHBOUR=$left RPCRDMA_TEST_VERBS_ADDRESS=$right expect 'neighbours that are not known yet' timeout $patience \
      "$bin/interop_fabric" --gtest_brief=1 --gtest_color=no --gtest_filter='*Neighbour*'
    ;;
  more)
    rest=$(without "${host[@]}" "${programs[@]}" "${peers[@]}" </run/tests && tests_of "${later[@]}")
    run_both 'the other tests' "$(sed -n 'p;n' <<<"$rest")" 'the second half of them' "$(sed -n 'n;p' <<<"$rest")"
    rights
    ;;
  capture | rights) "$1" ;;
  *) expect "$*" run "$@" ;;
esac
expect 'nothing is left behind' resources_are "$before"
finish
