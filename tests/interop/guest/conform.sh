# SPDX-License-Identifier: BSD-3-Clause
# rpcrdma-conform against this project's programs and the kernel's server. Its reports (JUnit XML, terminal output) go to
# $VM_OUT. In the virtual machine:
#   scripts/vm run -t 3000 -o FOLDER tests/interop/guest/conform.sh BUILD_FOLDER rxe PEER...
# PEER: ours, rpcrdma-nfsd; client, rpcrdma-nfs; knfsd, the kernel's server.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
device=$2 peers=("${@:3}")
# Cases that are not run against the kernel's server.
not_for_knfsd='chunk-lists/.*read|read-chunks/|long-calls/|limits/'

# conform NAME ARGUMENT...: a failed MUST is a result; the script fails only if the peer no longer answers.
conform() {
  local name=$1 status=0
  "$bin/rpcrdma-conform" "$2" --patience 20 --junit "$VM_OUT/$name.xml" "${@:3}" >"$VM_OUT/$name.txt" 2>&1 || status=$?
  grep -v '^pass\|^skip\|^$' "$VM_OUT/$name.txt"
  ((status == 0 || status == 1))
}

conform_ours() {
  mkdir -p /srv/ours
  vm_ext4 /srv/ours 256
  start_nfsd verbs "$VM_ADDRESS"
  expect 'this server' conform "ours-$device" server --export /ours "verbs@$VM_ADDRESS:20050"
  stop_nfsd
}

conform_client() {
  expect 'this client' conform "client-$device" client --listen "verbs@$VM_ADDRESS:20052" -- \
    "$bin/rpcrdma-nfs" --fabric verbs --timeout 5 get -r '{url}' '{dir}'
}

conform_knfsd() {
  vm_ext4 /srv/knfsd 256
  vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
  local port
  port=$(rpcinfo -p 127.0.0.1 | awk '$1 == 100005 && $2 == 3 && $3 == "tcp" { print $4; exit }')
  expect "the kernel's server" conform "knfsd-$device" server --only "^(?!$not_for_knfsd)" --export /srv/knfsd --mount-port "$port" \
    "verbs@$VM_ADDRESS:20049"
}

"vm_$device"
for peer in "${peers[@]}"; do
  part "$peer on $device"
  "conform_$peer"
done
finish
