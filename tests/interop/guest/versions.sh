# SPDX-License-Identifier: BSD-3-Clause
# RPC-over-RDMA version two where the kernel, which supports only version one, is the peer: both programs with
# --rdma-version auto. In the virtual machine:
#   scripts/vm run [--siw] tests/interop/guest/versions.sh BUILD_FOLDER rxe|siw
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/client.sh"
device=$2 root='--root-handle 0100010000000000'

case $device in
  rxe)
    rxe_with_a_wire || vm_die 'no RoCE devices'
    address=$right serving=verbs of_kernel=(left udp port 4791) of_ours=("${of_kernel[@]}")
    ;;
  siw)
    vm_siw || vm_die 'no siw'
    address=$VM_ADDRESS serving=iwarp of_kernel=(lo tcp port 20049) of_ours=(lo tcp port 20050)
    ;;
esac

# One process calls the kernel's server without pause. Stopping the server's threads ends its connections. The calls are
# counted before the threads start again, so later calls use a new connection.
calls_served() { awk '/^rpc /{ print $2 }' /proc/net/rpc/nfsd; }
serves_more_than() { (($(calls_served) > $1)); }
part_fallback() {
  start_capture "fallback-$device.pcap" "${of_kernel[@]}"
  local before
  before=$(calls_served)
  "$bin/rpcrdma-ping" --fabric verbs --rdma-version auto --timeout 600 --count 100000000 $address:20049 2>>/run/client.err &
  local ping=$!
  expect 'the server answers' vm_until $patience serves_more_than "$before"
  rpc.nfsd 0
  before=$(calls_served)
  rpc.nfsd 4 && echo 'rdma 20049' >/proc/fs/nfsd/portlist
  expect 'the server answers again on a new connection' vm_until $patience serves_more_than "$before"
  expect 'the client is still at work' kill $ping
  wait $ping
  stop_capture
}

# The commands of the client: over verbs, and to siw also over iwarp.
part_client() {
  small_tree /run/tree
  drive_client verbs "nfs://$address:20049/root" /srv/knfsd --rdma-version auto $root
  [[ $device != siw ]] || drive_client iwarp "nfs://$address:20049/root" /srv/knfsd --rdma-version auto $root
}

# The kernel's client on a server that has both versions.
part_server() {
  start_nfsd $serving $address --credits 8 --rdma-version auto
  start_capture "server-$device.pcap" "${of_ours[@]}"
  must 'mount' mount_ours $address rsize=65536,wsize=65536
  expect 'write' dd if=/run/tree/big of=/mnt/big bs=1M conv=fsync status=none
  drop_caches
  expect 'read' cmp /run/tree/big /mnt/big
  expect 'ls' test "$(ls /mnt)" = "$(ls /srv/ours)"
  expect 'no bad replies' no_bad_replies
  expect 'umount' umount /mnt
  stop_capture
  stop_nfsd
}

vm_ext4 /srv/ours 100
vm_ext4 /srv/knfsd 200
vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
for each in fallback client server; do
  part "versions: $each"
  "part_$each"
done
rpc.nfsd 0
part end
finish
