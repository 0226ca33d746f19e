# SPDX-License-Identifier: BSD-3-Clause
# The project's script for bpftrace on rpcrdma-nfsd and rpcrdma-nfs under load. The host compares its histograms with
# the calls that the server has counted. The fabric is iwarp on a loopback address, so that no connection is lost and
# each call is sent once. In the virtual machine:
#   scripts/vm run tests/interop/guest/probes.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/client.sh"
script=$(realpath "$tests/../tools/bpftrace/rpcrdma-calls.bt")
url=nfs://127.0.0.1:20050/ours
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
small_tree /run/tree
vm_ext4 /srv/ours 100

# counters NAME saves what the server has counted so far.
counters() {
  python3 -c 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:9110/metrics").read().decode(), end="")' >"$VM_OUT/$1.metrics"
}

# traced_client NAME ARGUMENT...: runs a client under the script, as docs/probes.md describes it, between two readings of
# the server's counters.
sed "s#usdt:\*#usdt:$(realpath "$bin/rpcrdma-nfs")#" "$script" >/run/client.bt
traced_client() {
  local name=$1
  shift
  counters "before-$name"
  expect "$name" bpftrace -o "$VM_OUT/$name.maps" -c "$bin/rpcrdma-nfs --fabric iwarp --timeout $patience $*" /run/client.bt 2>/run/client.err
  counters "after-$name"
}

start_nfsd iwarp 127.0.0.1 --threads 2 --metrics 9110
counters before-server
bpftrace -p "$nfsd" -o "$VM_OUT/server.maps" "$script" &
tracer=$!
must 'bpftrace attaches to the server' vm_until $patience python3 -B "$tests/interop/guest/armed.py" "$nfsd"
traced_client put put -r /run/tree "$url/tree"
traced_client get get -r "$url/tree" /run/back
expect 'what came back is identical' diff -r --no-dereference /run/tree /run/back
counters after-server
kill -INT $tracer
expect 'the script ends' wait $tracer
stop_nfsd
finish
