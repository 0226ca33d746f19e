# SPDX-License-Identifier: BSD-3-Clause
# The programs over verbs with the kernel as their peer, on rxe. In the virtual machine:
#   scripts/vm run tests/interop/guest/rxe.sh BUILD_FOLDER INPUT_FOLDER [mount|knfsd]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/client.sh"
. "$tests/interop/guest/mount.sh"
# The kernel's rxe does not survive a lost or late acknowledgement (a repeated registration fails), and in an emulated
# machine acknowledgements are late when much data is in flight.
few='--credits 8'
input=$2 fabric=verbs address=$right
shift 2
parts=("$@")
((${#parts[@]})) || parts=(mount knfsd)

part_mount() {
  vm_ext4 /srv/ours 700
  mount_captured mount-rxe.pcap left udp port 4791
  mount_invalidation
  mount_client_goes rxe0 type rxe netdev left
  mount_everything
  mount_over_ipv6
  # Compares all resources: the kernel's server, which leaks some, has not run yet.
  expect 'nothing is left of the mounts' resources_are "$before"
}

# A call has at most one handle. rpcrdma-nfsd invalidates it with the reply, so the kernel's client need not do so.
mount_invalidation() {
  must 'mount' mount_ours $right rsize=65536,wsize=65536
  trace_on xprtrdma_mr_reminv xprtrdma_mr_localinv
  expect 'write' dd if="$input/big" of=/mnt/remote bs=64k count=64 conv=fsync status=none
  drop_caches
  expect 'read' cmp -n 4194304 "$input/big" /mnt/remote
  trace_off
  local remote locally
  remote=$(traced xprtrdma_mr_reminv) locally=$(traced xprtrdma_mr_localinv)
  echo "invalidated by our server: $remote, by the kernel's client itself: $locally"
  expect "the kernel's client accepts remote invalidation" test "$remote" -ge 128
  expect "the kernel's client invalidates nothing itself" test "$locally" -eq 0
  rm /mnt/remote
  expect 'umount' umount /mnt
}

mount_over_ipv6() {
  start_nfsd "$fabric" "[$left6]" $few
  must 'mount over IPv6' mount_ours "[$left6]"
  expect 'the mount uses RDMA over IPv6' eval "grep -A9 'mounted on /mnt ' /proc/self/mountstats | grep -q 'proto=rdma6'"
  expect 'write' dd if="$input/big" of=/mnt/six bs=1M count=16 conv=fsync status=none
  drop_caches
  expect 'read' cmp -n $((16 << 20)) "$input/big" /mnt/six
  rm /mnt/six
  expect 'no bad replies' no_bad_replies
  expect 'umount' umount /mnt
  stop_nfsd
}

part_knfsd() {
  vm_ext4 /srv/knfsd 300
  vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
  seq 1 20000 >/srv/knfsd/numbers
  small_tree /run/tree
  local url=nfs://$right:20049/root root='--root-handle 0100010000000000'
  start_capture knfsd-rxe.pcap left udp port 4791
  client_for_the_capture verbs "$url" /srv/knfsd /run/tree/deep/er/file30 $root
  stop_capture
  knfsd_invalidation "$url" "$root"
  knfsd_endings "$url" "$root"
  rpc.nfsd 0
}

# knfsd_invalidation URL CLIENT_OPTIONS: runs the commands of the client. rxe invalidates the windows that the server
# names, and two at the client's request: a long call has two handles, and the server names neither.
knfsd_invalidation() {
  trace_on svcrdma_post_send
  probe_on rxe_invalidate_mw
  drive_client verbs "$1" /srv/knfsd $2
  trace_off
  local remote all
  remote=$(traced 'inv_rkey=0x0*[1-9a-f]') all=$(traced ' rxe_invalidate_mw: ')
  echo "invalidated by the kernel's server: $remote, in all: $all"
  expect "the kernel's server invalidates windows of our client" test "$remote" -ge 100
  expect 'our client invalidates only the windows of the long call' test "$all" -eq $((remote + 2))
}

# killed_in_mid_transfer TARGET CLIENT_ARGUMENT...: kills the client once TARGET holds more than 1,000 KiB.
killed_in_mid_transfer() {
  local target=$1
  shift
  "$bin/rpcrdma-nfs" --fabric verbs --root-handle 0100010000000000 "$@" 2>/dev/null &
  expect "$1 is in progress" vm_until $patience eval "((\$(du -sk '$target' 2>/dev/null | cut -f 1) + 0 > 1000))"
  kill -KILL $!
  wait $! 2>/dev/null
}

# server_goes FROM TO get|put FILE: the server ends all connections during the transfer, and comes back; the copy is FILE.
server_goes() {
  local file=$4
  $client "$3" "$1" "$2" 2>>/run/client.err &
  local copy=$!
  expect "$3 is in progress" vm_until $patience eval "du -sk '$2' '$file' 2>/dev/null | awk '\$1 > 1000 { n = 1 } END { exit !n }'"
  rpc.nfsd 0
  expect "$3 waits" kill -0 "$copy"
  rpc.nfsd 4 && echo 'rdma 20049' >/proc/fs/nfsd/portlist
  expect "$3 survives the server" wait "$copy"
  expect 'nothing is lost' cmp /run/piece "$file"
}

# knfsd_endings URL: ends connections in several ways, and checks that no resources remain.
knfsd_endings() {
  local with_server
  with_server=$(but_never_accepted)
  RPCRDMA_TEST_CYCLES=$(few_or_many 25 100) expect 'one process makes many connections and leaves nothing; local invalidations' \
    client_tests 'Cycles.*:RequesterTest.*'
  head -c 60000000 "$input/big" >/run/piece
  killed_in_mid_transfer /srv/knfsd/piece put /run/piece "$1/piece"
  expect 'put, again' quiet put /run/piece "$1/piece"
  # More rounds than the kernel's server has threads (four): a killed client whose end the server does not notice would
  # block a thread.
  for ((i = 0; i < $(few_or_many 5 8); ++i)); do
    rm -rf /run/into && mkdir /run/into
    killed_in_mid_transfer /run/into get "$1/piece" /run/into
    expect 'nothing is left of the killed client' resources_are "$with_server" but_never_accepted
  done
  mkdir /run/again
  server_goes "$1/piece" /run/again get /run/again/piece
  server_goes /run/piece "$1/again" put /srv/knfsd/again
  expect 'nothing is left of these connections' resources_are "$with_server" but_never_accepted
}

rxe_with_a_wire || vm_die 'no RoCE devices'
before=$(vm_rdma_resources) before_all=$(but_never_accepted)
for each in "${parts[@]}"; do
  part "rxe: $each"
  "part_$each"
done
expect 'nothing is left behind' resources_are "$before_all" but_never_accepted
part end
finish
