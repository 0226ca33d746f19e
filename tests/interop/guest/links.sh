# SPDX-License-Identifier: BSD-3-Clause
# Links of IP over verbs, on five RoCE devices that a bridge joins. In the virtual machine:
#   scripts/vm run -p 1 tests/interop/guest/links.sh BUILD_FOLDER [neighbours [GTEST_OPTION...] | hosts TEST...]
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
shift
devices=5

# neighbours [GTEST_OPTION...]: runs the tests in which one process has links on two devices.
neighbours() {
  RPCRDMA_TEST_VERBS_ADDRESS=$(bridged 1) RPCRDMA_TEST_CLIENT_ADDRESS=$(bridged 2) \
    RPCRDMA_TEST_ROUNDS=$(few_or_many 60 1000) "$bin/interop_ipoib" --gtest_brief=1 --gtest_color=no "$@"
}

# hosts TEST...: runs end-to-end tests of rpcrdma-ip, with tiny inputs unless RPCRDMA_E2E_SCALE says otherwise.
hosts() {
  local number addresses=''
  for ((number = 1; number <= devices; ++number)); do addresses+=" $(bridged "$number")"; done
  RPCRDMA_BIN=$bin RPCRDMA_E2E_SCALE=${RPCRDMA_E2E_SCALE:-tiny} RPCRDMA_E2E_FABRIC=verbs RPCRDMA_E2E_HOSTS=$addresses \
    python3 -B "$tests/e2e/run.py" "$@" 2>&1
}
# The tests for `hosts` if BUILD_FOLDER is the only argument and `more` is empty. ipoib.sh has the tests of streams,
# sizes and path MTU.
default=(ipoib/Five ipoib/Three ipoib/Pair.test_killed_under_load ipoib/Pair.test_idle ipoib/Pair.test_unknown_neighbour)

# On two processors, rxe of Linux 6.1 may notify a completion queue while it is being destroyed (docs/interop.md).
(($(nproc) == 1)) || vm_die 'the machine has more than one processor'
modprobe tun || vm_die 'no TUN devices'
rxe_on_a_bridge "$devices" || vm_die 'no RoCE devices'
# The device of a link is made in the initial network namespace, and then moved. Meanwhile its addresses
# must not answer: the peer of an open TCP connection would get a reset.
ip rule add pref 1 to 10.9.0.0/24 blackhole && ip -6 rule add pref 100 lookup local &&
  ip -6 rule add pref 1 to fd09::/64 blackhole && ip -6 rule del pref 0 || vm_die 'no rules'
before=$(vm_rdma_resources)
if (($#)); then
  expect "$1" "$@"
else
  part neighbours
  expect 'links of one process' neighbours
  expect 'no RDMA resource is left' resources_are "$before"
  part hosts
  if [[ -n $more ]]; then expect 'rpcrdma-ip' hosts ipoib; else expect 'rpcrdma-ip' hosts "${default[@]}"; fi
fi
expect 'no RDMA resource is left' resources_are "$before"
finish
