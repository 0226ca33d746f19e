# SPDX-License-Identifier: BSD-3-Clause
# The programs over verbs on a soft device: our client with our server, our client with the kernel's server, the
# kernel's client with our server. In the virtual machine:
#   scripts/vm run [--siw] tests/interop/guest/programs.sh BUILD_FOLDER rxe|siw [ours|knfsd|mount]...
bin=$1/bin device=$2
shift 2
parts=("$@")
((${#parts[@]})) || parts=(ours knfsd mount)
failed=0

# expect WHAT COMMAND...
expect() {
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else
    echo "FAILED: $what"
    tail -n 5 /run/client.err /run/nfsd.err 2>/dev/null
    failed=1
  fi
}
same_output() { cmp <(eval "$1") "$2"; }

make_input() {
  mkdir -p /run/tree/deep/er
  head -c 20000001 /dev/urandom >/run/tree/big
  local i
  for i in {1..50}; do head -c $((i * 777)) /run/tree/big >/run/tree/deep/er/file$i; done
  ln -s ../big /run/tree/deep/link
  : >/run/tree/empty
}

# drive_client URL FOLDER [CLIENT_OPTION...]: our client on a server that exports FOLDER as URL.
drive_client() {
  local url=$1 folder=$2
  # No terminal, no progress bar.
  local nfs="timeout 400 $bin/rpcrdma-nfs --fabric verbs ${*:3} 2>>/run/client.err"
  expect 'ping' eval "$nfs ping $url >/dev/null"
  expect 'put -r' eval "$nfs put -r /run/tree $url/tree"
  expect 'what was put is identical' diff -r --no-dereference /run/tree "$folder/tree"
  expect 'get -r' eval "$nfs get -r $url/tree /run/back"
  expect 'what came back is identical' diff -r --no-dereference /run/tree /run/back
  expect 'cat' same_output "$nfs cat $url/tree/big" /run/tree/big
  expect 'ls' same_output "$nfs ls $url/tree/deep/er" <(ls /run/tree/deep/er | LC_ALL=C sort)
  expect 'readlink' same_output "$nfs readlink $url/tree/deep/link" <(echo ../big)
  expect 'rm -r' eval "$nfs rm -r $url/tree"
  expect 'nothing is left' eval "[[ ! -e $folder/tree ]]"
  rm -rf /run/back
}

start_nfsd() {
  "$bin/rpcrdma-nfsd" --export /srv/ours:/ours --fabric verbs --listen "$VM_ADDRESS:20050" "$@" \
    >/run/nfsd.out 2>/run/nfsd.err &
  nfsd=$!
  vm_until 30 grep -q ^ready /run/nfsd.out || { cat /run/nfsd.err; vm_die 'rpcrdma-nfsd does not start'; }
  grep -q 'fabric=verbs' /run/nfsd.out || vm_die "$(</run/nfsd.out)"
}
stop_nfsd() {
  kill -TERM "$nfsd"
  expect 'the server ends in good order' wait "$nfsd"
}

part_ours() {
  start_nfsd
  drive_client "nfs://$VM_ADDRESS:20050/ours" /srv/ours
  stop_nfsd
}

part_knfsd() {
  vm_ext4 /srv/knfsd 256
  vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
  drive_client "nfs://$VM_ADDRESS:20049/root" /srv/knfsd --root-handle 0100010000000000
  rpc.nfsd 0
}

part_mount() {
  start_nfsd --tcp-listen "$VM_ADDRESS:20051"
  expect 'mount' vm_mount_rdma 20050 /ours /mnt "mountaddr=$VM_ADDRESS,mountvers=3,mountport=20051"
  if mountpoint -q /mnt; then
    expect 'cp' cp -a /run/tree /mnt/
    expect 'remount' eval "umount /mnt && vm_mount_rdma 20050 /ours /mnt mountaddr=$VM_ADDRESS,mountvers=3,mountport=20051"
    expect 'what was copied is identical' diff -r --no-dereference /run/tree /mnt/tree
    grep -A40 'mounted on /mnt ' /proc/self/mountstats | grep -E 'opts:|xprt:' >"$VM_OUT/mountstats"
    expect 'the transport is rdma' grep -q 'xprt:.*rdma' "$VM_OUT/mountstats"
    expect 'rm -r' rm -r /mnt/tree
    expect 'umount' umount /mnt
  fi
  stop_nfsd
}

"vm_$device"
make_input
vm_ext4 /srv/ours 256
before=$(vm_rdma_resources)
for part in "${parts[@]}"; do
  echo "== $device: $part"
  "part_$part"
done
if ! vm_until 30 eval '[[ $(vm_rdma_resources) == "$before" ]]'; then
  echo "FAILED: left behind: $(vm_rdma_resources) (before: $before)"
  failed=1
fi
exit $failed
