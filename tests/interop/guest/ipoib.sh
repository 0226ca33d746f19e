# SPDX-License-Identifier: BSD-3-Clause
# rpcrdma-ip over verbs between two RoCE devices, and NFS over it. In the virtual machine:
#   scripts/vm run tests/interop/guest/ipoib.sh BUILD_FOLDER
# RDMA devices are in the initial network namespace only, so both rpcrdma-ip run there. The network device that the left
# one creates is moved to a namespace of its own, so that packets between the two can take no other path.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

left_ip='' right_ip='' # process ids
inside() { nsenter --net=/run/netns/inside -- "$@"; }

start_right() {
  rm -f /run/right.out
  "$bin/rpcrdma-ip" --address 10.9.0.2/24 --address fd09::2/64 --listen verbs@$right:4755 --name ipright "$@" \
    --peer 10.9.0.1=$left:4755 --peer fd09::1=$left:4755 >/run/right.out 2>>/run/right.err &
  right_ip=$!
  vm_until $patience grep -q ^ready /run/right.out || { cat /run/right.err; vm_die 'rpcrdma-ip does not start'; }
}

start_left() {
  rm -f /run/left.out
  "$bin/rpcrdma-ip" --address 10.9.0.1/24 --address fd09::1/64 --listen verbs@$left:4755 --name ipleft "$@" \
    --peer 10.9.0.2=$right:4755 --peer fd09::2=$right:4755 >/run/left.out 2>>/run/left.err &
  left_ip=$!
  vm_until $patience grep -q ^ready /run/left.out || { cat /run/left.err; vm_die 'rpcrdma-ip does not start'; }
  ip link set ipleft netns inside
  inside ip address add 10.9.0.1/24 dev ipleft
  inside ip address add fd09::1/64 dev ipleft nodad
  inside ip link set ipleft up
}

counter() { # PROCESS LOG NAME
  local before
  before=$(grep -c ^counters "$2")
  kill -USR1 "$1"
  vm_until $patience eval '(($(grep -c ^counters "'"$2"'") > '"$before"'))' || return 1
  grep ^counters "$2" | tail -n 1 | grep -o " $3=[0-9]*" | cut -d= -f2
}

# A request that is too large is answered with the MTU of the other side.
learns_mtu() {
  inside ping -q -c 1 -W 2 -s 9000 10.9.0.2 >/run/ping.out
  inside ip route get 10.9.0.2 | grep -q "mtu $1"
}

answers() { inside ping -q -c 1 -W 120 -s "$2" "$1" >/run/ping.out; }

pings() {
  local size
  for size in 0 1400 2016 32000 65000; do
    expect "IPv4 $size" answers 10.9.0.2 $size
    expect "IPv6 $size" answers fd09::2 $size
  done
}

stream() { inside iperf3 --client 10.9.0.2 --bytes 4M "$@" >/run/iperf-client.out; }

streams() {
  iperf3 --server --forceflush >/run/iperf.out 2>&1 &
  local server=$!
  vm_until $patience grep -q listening /run/iperf.out || vm_die 'no iperf3'
  local options
  for options in '' --reverse '--parallel 8'; do
    # shellcheck disable=SC2086
    expect "iperf3 $options" stream $options
  done
  kill $server
}

nfs_over_it() {
  mkdir -p /srv/exported /run/over-ip /run/over-rdma
  mount -t tmpfs none /srv/exported
  head -c 2M /dev/urandom >/srv/exported/data
  vm_knfsd /srv/exported 20049 || vm_die 'the kernel does not serve NFS'
  modprobe -a rpcrdma nfsv3
  expect 'rpcbind answers' inside rpcinfo -p 10.9.0.2
  expect 'MOUNT answers' inside showmount -e 10.9.0.2
  must 'NFS over TCP through the link' inside mount -t nfs -o vers=3,proto=tcp,nolock,mountproto=tcp 10.9.0.2:/srv/exported /run/over-ip
  must 'NFS over RDMA beside it' mount_rdma
  expect 'a file through the link' cmp /srv/exported/data /run/over-ip/data
  expect 'the same by RDMA' cmp /srv/exported/data /run/over-rdma/data
  expect 'a file written through the link' cp /srv/exported/data /run/over-ip/copy
  expect 'and read by RDMA' cmp /srv/exported/data /run/over-rdma/copy
  expect 'umount' inside umount /run/over-ip
  expect 'umount' umount /run/over-rdma
}
mount_rdma() {
  mount -t nfs -o vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountaddr=$right $right:/srv/exported /run/over-rdma
}

rxe_with_a_wire
modprobe tun || vm_die 'no TUN devices'
mkdir -p /run/netns && ip netns add inside && inside ip link set lo up
before=$(vm_rdma_resources)
start_right
start_left
part echo requests
pings
part streams
streams
part NFS
nfs_over_it
part restart
expect 'SIGTERM ends rpcrdma-ip with status 0' eval "kill $right_ip && wait $right_ip"
expect 'the device of rpcrdma-ip is removed' eval '! ip link show dev ipright 2>/dev/null'
start_right --mtu 2044
expect 'the restarted rpcrdma-ip answers' vm_until $patience inside ping -q -c 1 -W 2 10.9.0.2
expect 'the path MTU is learnt' vm_until $patience learns_mtu 2044
expect 'no bad frames' test "$(counter $left_ip /run/left.err bad_frames)" = 0
expect 'SIGTERM ends both programs with status 0' eval "kill $left_ip $right_ip && wait $left_ip && wait $right_ip"
tail -n 3 /run/left.err /run/right.err
echo 0 >/proc/fs/nfsd/threads
expect 'no RDMA resource is left' resources_are "$before"
finish
