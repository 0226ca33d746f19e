# SPDX-License-Identifier: BSD-3-Clause
# The programs on siw: the kernel's client on rpcrdma-nfsd over iwarp; rpcrdma-nfs over verbs on the kernel's server; the
# two fabrics mixed; a device that is removed and comes back; a low limit of locked memory; silent servers; devices
# that cannot be used; many mounts and connections; faults that rpcrdma-proxy causes; and the kernel's server for a
# client outside. In the virtual machine:
#   scripts/vm run --siw tests/interop/guest/siw.sh BUILD_FOLDER INPUT_FOLDER [mount|mixed|device|fabric|memory|silent|closed|mounts|knfsd|connections|faults-linux|faults-ours|outside]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/client.sh"
. "$tests/interop/guest/mount.sh"
. "$tests/interop/guest/faults.sh"
few='' input=$2 fabric=iwarp address=$VM_ADDRESS
shift 2
parts=("$@")
if ((${#parts[@]} == 0)); then
  parts=(mount mixed device fabric memory closed knfsd connections faults-linux faults-ours outside)
  [[ -z $more ]] || parts=(mixed silent mounts connections)
fi
root='--root-handle 0100010000000000'

part_mount() {
  mount_captured mount-siw.pcap lo tcp port 20050
  mount_client_goes siw0 type siw netdev eth0
  mount_everything
}

part_mixed() {
  local pair pairs=(iwarp-verbs)
  [[ -z $more ]] || pairs=(verbs-iwarp verbs-verbs)
  for pair in "${pairs[@]}"; do
    part "client ${pair%-*}, server ${pair#*-}"
    start_nfsd "${pair#*-}" $address
    drive_client "${pair%-*}" "nfs://$address:20050/ours" /srv/ours
    stop_nfsd
  done
}

part_mounts() {
  start_nfsd $fabric $address
  mounts_leave_nothing 20
  stop_nfsd
}

# The device of a listening server is removed and comes back.
part_device() {
  start_nfsd verbs $address
  must 'the device is removed' timeout $patience rdma link delete siw0
  expect 'the device comes back' rdma link add siw0 type siw netdev eth0
  expect 'the server listens again' vm_until $patience grep -q 'listening again' /run/nfsd.err
  expect 'the server answers' timeout $patience "$bin/rpcrdma-ping" --fabric verbs --count 1 "$address:20050"
  device_goes_at_work
  stop_nfsd
}

# The device of both programs is removed during a copy.
device_goes_at_work() {
  # The file is so large that the copy is still in progress when the device is removed.
  cat "$input/big" "$input/big" | head -c 128000000 >/run/piece
  timeout $patience "$bin/rpcrdma-nfs" --fabric verbs put /run/piece "nfs://$address:20050/ours/piece" 2>/run/client.err &
  local copy=$!
  must 'the copy is in progress' vm_until $patience eval "((\$(stat -c %s /srv/ours/piece 2>/dev/null || echo 0) > 2000000))"
  must 'the device is removed during the copy' timeout $patience rdma link delete siw0
  expect 'the copy waits' kill -0 "$copy"
  expect 'the device comes back' rdma link add siw0 type siw netdev eth0
  expect 'the copy continues and succeeds' wait "$copy"
  expect 'the file is identical' cmp /run/piece /srv/ours/piece
  rm /run/piece /srv/ours/piece
}

# fabric-siw runs all tests of this program.
part_fabric() {
  expect 'rdma_connect() may return late' fabric_test LateCallTest
  expect 'ports of other sockets are not chosen' fabric_test PortsTest
}
# fabric_test CLASS: runs the test of a class that has one test. Shows its output if it fails.
fabric_test() {
  RPCRDMA_TEST_IWARP=1 RPCRDMA_TEST_VERBS_ADDRESS=$address RPCRDMA_TEST_LOG=1 \
    "$bin/interop_fabric" --gtest_color=no --gtest_filter="*$1*" >/run/fabric.log 2>&1
  grep -qF '[  PASSED  ] 1 test.' /run/fabric.log || { cat /run/fabric.log && return 1; }
}

# siw counts registered memory against the limit of locked memory for root as well. A server that may not raise the
# usual limit of 8 MiB warns of the limit at its start. If it cannot register memory for a call, it answers JUKEBOX.
# Each thread logs such calls at most once a minute.
part_memory() {
  local url="nfs://$address:20050/ours" i copies=() client="timeout $patience $bin/rpcrdma-nfs --fabric verbs"
  : >/run/nfsd.err
  nfsd_prefix=(prlimit --memlock=8388608:8388608 setpriv --bounding-set=-sys_resource)
  start_nfsd verbs $address --threads 2
  nfsd_prefix=()
  expect 'the server warns at start of the limit' grep -q 'locked memory is limited to 8192 KiB' /run/nfsd.err
  head -c 6000000 /dev/urandom >/run/file
  for i in 1 2 3; do
    $client put /run/file "$url/file$i" 2>>/run/client.err &
    copies+=($!)
  done
  for i in 1 2 3; do
    expect "copy $i ends" wait "${copies[i - 1]}"
    expect "copy $i is identical" cmp /run/file "/srv/ours/file$i"
  done
  expect 'the copies from the server are identical' eval '$client get $url/file1 /run/back 2>/run/client.err && cmp /run/file /run/back'
  echo "refusals: $(grep -c 'cannot register' /run/nfsd.err) lines"
  expect 'refusals are few lines' eval "((\$(grep -c 'cannot register' /run/nfsd.err) <= 8))"
  stop_nfsd
  rm /srv/ours/file? /run/file /run/back
}

# For each device that cannot be used, the server prints one line with the reason.
part_closed() {
  chmod 600 /dev/infiniband/uverbs*
  expect 'no permission' said_of_device 'no permission.*uverbs' setpriv --reuid 65534 --regid 65534 --clear-groups
  chmod 666 /dev/infiniband/uverbs*
  mv /dev/infiniband/uverbs0 /run/uverbs0
  expect 'a container without the device file' said_of_device 'uverbs.* is missing' env
  mv /run/uverbs0 /dev/infiniband/uverbs0
  mv /etc/libibverbs.d/siw.driver /run
  expect 'no driver' said_of_device 'no RDMA driver' env
  mv /run/siw.driver /etc/libibverbs.d
  expect 'no device' said_of_device 'no RDMA device for this address' env 127.0.0.1
  expect 'the server starts' serves_again
}
serves_again() {
  start_nfsd verbs $address
  stop_nfsd
}
# said_of_device PATTERN PREFIX... [ADDRESS]: runs a server under the command PREFIX (env, setpriv). The server cannot
# listen at ADDRESS; checks that it prints one error line, and that PATTERN matches its errors.
said_of_device() {
  local pattern=$1 at=$address
  shift
  [[ ${!#} != 127.* ]] || { at=${!#} && set -- "${@:1:$#-1}"; }
  rm -rf /run/closed && install -d -m 777 /run/closed  # for each server a state directory of its user
  timeout $patience "$@" "$bin/rpcrdma-nfsd" --export memory:/m --listen verbs@$at:0 --state-dir /run/closed/state \
    >/run/closed.out 2>/run/closed.err &
  local server=$!
  vm_until $patience grep -q . /run/closed.out /run/closed.err
  kill $server 2>/dev/null
  wait $server
  cat /run/closed.out /run/closed.err
  grep -qE "$pattern" /run/closed.err && [[ $(grep -c ^rpcrdma /run/closed.err) == 1 ]]
}

# rdma_cm waits for a silent server in the kernel, which delays the exit of the program: for ten seconds if the server
# accepts connections; for two minutes if it drops SYNs and the attempt is not cancelled.
part_silent() {
  local how
  for how in accepts drops; do
    rm -f /run/silent.out
    python3 "$tests/interop/guest/silent.py" $address 20053 $how >/run/silent.out &
    local server=$!
    vm_until $patience grep -qs ready /run/silent.out || vm_die 'no silent server'
    expect "ping gives up a server that $how connections" given_up $how rpcrdma-ping --count 1 $address:20053
    expect 'ls gives up as well' given_up $how rpcrdma-nfs ls nfs://$address:20053/x
    kill $server
    wait $server 2>/dev/null
  done
}
# given_up HOW PROGRAM ARGUMENT...: checks that PROGRAM fails and reports the timeout in one line. If HOW is "accepts", the
# report must appear while the kernel still delays the exit.
given_up() {
  local how=$1 start=$SECONDS
  "$bin/$2" --fabric verbs --timeout 2 "${@:3}" 2>/run/client.err &
  local client=$! held=0
  vm_until $patience grep -qE 'timed out|in time' /run/client.err || return 1
  [[ $how != accepts ]] || kill -0 $client || held=1
  echo "$2: $(</run/client.err) ($((SECONDS - start)) s)"
  ! wait $client && ((held == 0 && $(wc -l </run/client.err) == 1))
}

part_knfsd() {
  start_capture knfsd-siw.pcap lo tcp port 20049
  client_for_the_capture verbs "nfs://$address:20049/root" /srv/knfsd /run/tree/deep/er/file30 $root
  stop_capture
  drive_client verbs "nfs://$address:20049/root" /srv/knfsd $root
  seq 1 20000 >/srv/knfsd/numbers
  RPCRDMA_TEST_CYCLES=25 expect '25 connections of one process leak nothing' client_tests 'Cycles.*'
}

# siw may leave the first frame unread until more arrive. Opens connections, each of which waits for its first reply.
part_connections() {
  expect "$(few_or_many 10 40) connections" first_replies "$(few_or_many 10 40)"
}
first_replies() {
  local i
  for ((i = 0; i < $1; ++i)); do
    "$bin/rpcrdma-ping" --fabric verbs --timeout 300 --count 1 $address:20049 >/dev/null 2>>/run/client.err || return 1
  done
}

# rpcrdma-proxy causes faults between the kernel's client and rpcrdma-nfsd, and between rpcrdma-nfs and the kernel's server.
part_faults-linux() {
  faults_linux "$(few_or_many 5 500)" start-up=yes
}
part_faults-ours() {
  faults_ours "$(few_or_many 5 500)"
}

# The host runs its own client, over iwarp through a forwarded port, and signals when it is done.
part_outside() {
  large_directory /srv/knfsd/many 600
  start_capture outside-siw.pcap eth0 tcp port 20049
  : >"$VM_OUT/ready"
  expect 'the client outside has done what the capture is to show' vm_until $patience test -e "$VM_OUT/shown"
  stop_capture
  expect "the client's symbolic link of 4,000 bytes is intact" test "$(readlink /srv/knfsd/long)" = "$long_target"
  expect 'the client outside is done' vm_until $patience test -e "$VM_OUT/done"
  expect "the client's tree is identical" diff -r --no-dereference "$input/small" /srv/knfsd/outside
}

vm_siw || vm_die 'no siw'
vm_ext4 /srv/ours 500
vm_ext4 /srv/knfsd 200
small_tree /run/tree
before=$(but_never_accepted)
[[ ! " ${parts[*]} " =~ \ (knfsd|connections|faults-ours|outside)\  ]] || vm_knfsd /srv/knfsd 20049 ||
  vm_die 'the kernel does not serve NFS over RDMA'
for each in "${parts[@]}"; do
  part "siw: $each"
  "part_$each"
done
rpc.nfsd 0 2>/dev/null
expect 'nothing is left behind' resources_are "$before" but_never_accepted
part end
finish
