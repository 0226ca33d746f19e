# SPDX-License-Identifier: BSD-3-Clause
# rpcrdma-conform against this project's programs and the kernel. Its reports (JUnit XML, terminal output) go to $VM_OUT. In
# the virtual machine:
#   scripts/vm run -t 3000 -o FOLDER tests/interop/guest/conform.sh BUILD_FOLDER rxe PEER...
#   scripts/vm run --siw -t 3000 -o FOLDER tests/interop/guest/conform.sh BUILD_FOLDER siw PEER...
# PEER: ours, rpcrdma-nfsd; client, rpcrdma-nfs; knfsd, the kernel's server; linux, the kernel's client; iwarp, siw
# below the kernel's server. On siw the tester of knfsd and linux uses the iwarp fabric.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
device=$2 peers=("${@:3}")
fabric=verbs
[[ $device != siw ]] || fabric=iwarp
# Cases that are not run against the kernel: those with empty segments. An empty Read segment ends a thread of the
# kernel's server (conform/known/linux-6.1-server.txt), until no thread is left to accept connections.
not_for_knfsd='chunk-lists/(read-discriminator|zero-length-read)|.*segments-of-nothing|long-calls/of-no-bytes|limits/long-call-of-(16|64|1000)$'
# Requests that are never complete fill the queue of siw's listener, which then refuses connections.
not_for_siw='bad-request/(length-not-reached|every-prefix|many-at-once)|enhanced/word-of'
not_for_linux='stalls/'  # a case takes minutes

# conform NAME TESTER LEFT_OUT ARGUMENT...: runs rpcrdma-conform TESTER with the cases that match $ONLY; if it is not
# set, with all cases that do not match LEFT_OUT. A failed MUST is a result: the function fails only if the run could
# not be completed, for example because the peer no longer answers.
conform() {
  local name=$1 tester=$2 only=${ONLY:-^(?!$3)} status=0
  "$bin/rpcrdma-conform" "$tester" --only "$only" --junit "$VM_OUT/$name.xml" "${@:4}" >"$VM_OUT/$name.txt" 2>&1 || status=$?
  grep -v '^pass\|^skip\|^$' "$VM_OUT/$name.txt"
  ((status == 0 || status == 1))
}

conform_ours() {
  mkdir -p /srv/ours
  vm_ext4 /srv/ours 256
  start_nfsd verbs "$VM_ADDRESS"
  expect 'this server' conform "ours-$device" server none --patience 20 --export /ours "verbs@$VM_ADDRESS:20050"
  stop_nfsd
}

conform_client() {
  expect 'this client' conform "client-$device" client none --patience 20 --listen "verbs@$VM_ADDRESS:20052" -- \
    "$bin/rpcrdma-nfs" --fabric verbs --timeout 5 get -r '{url}' '{dir}'
}

start_knfsd() {
  mountpoint -q /srv/knfsd && return
  vm_ext4 /srv/knfsd 256
  vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
}

conform_knfsd() {
  start_knfsd
  local port
  port=$(rpcinfo -p 127.0.0.1 | awk '$1 == 100005 && $2 == 3 && $3 == "tcp" { print $4; exit }')
  expect "the kernel's server" conform "knfsd-$device" server "$not_for_knfsd" --patience 20 --export /srv/knfsd \
    --mount-port "$port" "$fabric@$VM_ADDRESS:20049"
}

conform_linux() {
  modprobe -a rpcrdma nfsv3
  expect "the kernel's client" conform "linux-$device" client "$not_for_linux" --patience 300 \
    --listen "$fabric@$VM_ADDRESS:20052" --mount-port 20053 -- \
    "$tests/interop/guest/mount-and-copy.sh" '{address}' '{port}' '{mount_port}' '{dir}'
}

# --pause, because siw sometimes delays reading the bytes that arrive right after its Reply.
conform_iwarp() {
  start_knfsd
  expect "siw below the kernel's server" conform iwarp-siw iwarp "$not_for_siw" --enhanced --pause 0.2 --patience 20 \
    "$VM_ADDRESS:20049"
}

"vm_$device"
for peer in "${peers[@]}"; do
  part "$peer on $device"
  "conform_$peer"
done
finish
