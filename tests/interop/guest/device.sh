# SPDX-License-Identifier: BSD-3-Clause
# Tests the programs and the fabric on devices that are removed and come back, and the fabric after the wire is cut. In
# the virtual machine:
#   scripts/vm run tests/interop/guest/device.sh BUILD_FOLDER [GTEST_OPTION...]
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
shift

# control remove|add server|client: removes or adds the device of that side. control cut: takes the wire down. The server
# uses the device on the right.
cat >/run/control <<'END'
#!/bin/bash
case "$1 $2" in
  'remove server') exec timeout 600 rdma link delete rxe1 ;;
  'remove client') exec timeout 600 rdma link delete rxe0 ;;
  'add server') exec rdma link add rxe1 type rxe netdev right ;;
  'add client') exec rdma link add rxe0 type rxe netdev left ;;
  'cut ') exec ip link set right down ;;
  *) exit 2 ;;
esac
END
chmod +x /run/control

test_fabric() {
  RPCRDMA_TEST_VERBS_ADDRESS=$right RPCRDMA_TEST_CLIENT_ADDRESS=$left RPCRDMA_TEST_CONTROL=/run/control \
    "$bin/interop_device" --gtest_brief=1 --gtest_color=no "$@"
}

# test_programs: a device is removed during put, and one during get; then the last device is removed.
in_progress() { kill -0 "$copy" && (($(stat -c %s "$1" 2>/dev/null || echo 0) > 2000000)); }
said() { (($(grep -c "$1" /run/nfsd.err) == $2)); }
test_programs() {
  local url="nfs://$right:20050/ours" client="$bin/rpcrdma-nfs --fabric verbs" copy
  vm_ext4 /srv/ours 100
  head -c 24000000 /dev/urandom >/run/file
  start_nfsd verbs $right --credits 8 --threads 2 --keepalive 2
  local idle
  idle=$(but_memory)

  $client put /run/file $url/file 2>/run/client.err &
  copy=$!
  must 'put is in progress' vm_until $patience in_progress /srv/ours/file
  must "the server's device is removed during put" /run/control remove server
  expect 'the server logs the removal once' vm_until $patience said 'is gone' 1
  expect 'the device comes back' /run/control add server
  expect 'put continues and succeeds' wait $copy
  expect 'the copy on the server is identical' cmp /run/file /srv/ours/file
  expect 'the same server listens again' eval "vm_until $patience said 'listening again at' 1 && kill -0 $nfsd"

  $client get $url/file /run/back 2>/run/client.err &
  copy=$!
  must 'get is in progress' vm_until $patience in_progress /run/back
  must "the client's device is removed during get" /run/control remove client
  expect 'the device comes back' /run/control add client
  expect 'get continues and succeeds' wait $copy
  expect 'the copy from the server is identical' cmp /run/file /run/back
  expect 'the server has released its resources' holds_no_more

  must 'the device that the server does not use is removed' /run/control remove client
  must 'the last device is removed, under an idle server' /run/control remove server
  expect 'no device is left' eval '[[ -z $(rdma link) ]]'
  expect 'both come back' eval '/run/control add client && /run/control add server'
  expect 'the server listens again' vm_until $patience said 'listening again at' 2
  # A thread opens the device again for its next connection; of two connections, each thread gets one.
  expect 'ping, once for each thread' eval '$client ping $url && $client ping $url'
  expect 'the server has released its resources' holds_no_more
  stop_nfsd
}

# Leaves out the device's number, which changes when the device comes back.
vm_rdma_resources() { rdma resource show | sed 's/^[0-9]*: //' | sort; }

rxe_with_a_wire
before=$(vm_rdma_resources)
test_programs
expect 'fabrics on devices that are removed and come back' test_fabric "$@"
expect 'nothing is left behind' resources_are "$before"
finish
