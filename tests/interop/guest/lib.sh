# SPDX-License-Identifier: BSD-3-Clause
# Functions for scripts of this folder. A script that reads this file has BUILD_FOLDER as its first argument, prints one
# line for each check, and ends with `finish`, whose status is 1 if a check failed.
bin=$1/bin
more=${VM_MORE-} # if not empty, the checks that take too long for every run are included
tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
failed=0
nfsd='' # process id
state=/run/nfsd-state
# Seconds that a condition or a program may take; only a failure takes as long.
patience=600

# expect WHAT COMMAND...: checks that COMMAND succeeds. If it fails, shows the last error output of client and server.
expect() {
  local what=$1 start=$SECONDS
  shift
  if "$@"; then echo "ok: $what ($((SECONDS - start)) s)"; else
    echo "FAILED: $what (status $?)"
    tail -n 5 /run/client.err /run/nfsd.err 2>/dev/null
    failed=1
  fi
}
# must WHAT COMMAND...: like expect, but ends the script if COMMAND or an earlier check has failed, because the rest
# would be pointless or hang.
must() {
  expect "$@"
  ((failed == 0)) || vm_die 'cannot continue without this'
}
finish() { exit "$failed"; }
same_output() { cmp <(eval "$1") "$2"; }
in_order() { [[ -z $(sort -c <<<"$1" 2>&1) ]]; }

# few_or_many FEW MANY: prints the first number, or the second if $more is set.
few_or_many() { echo "${more:+$2 }$1" | cut -d ' ' -f 1; }

part() { echo "== $* (after $SECONDS s)"; }

# Two RoCE devices, left and right, connected by a wire on which a capture sees every frame: policy routing keeps traffic
# between two addresses of one machine from the loopback path.
left=10.1.0.1 right=10.1.0.2 left6=fd01::1
rxe_with_a_wire() {
  modprobe -a rdma_rxe ib_uverbs rdma_ucm veth || vm_die 'no rdma_rxe'
  vm_only_driver rxe
  ip link add left mtu 9000 type veth peer name right mtu 9000
  # Keeps frames in order and avoids drops: rxe recovers slowly, if at all.
  echo 1 >/sys/class/net/left/queues/rx-0/rps_cpus
  echo 1 >/sys/class/net/right/queues/rx-0/rps_cpus
  echo 50000 >/proc/sys/net/core/netdev_max_backlog
  local side
  for side in all left right; do
    echo 0 >/proc/sys/net/ipv4/conf/$side/rp_filter
    echo 1 >/proc/sys/net/ipv4/conf/$side/accept_local
  done
  ip link set left up
  ip link set right up
  ip addr add $left/32 dev left
  ip addr add $right/32 dev right
  ip addr add $left6/64 dev left nodad
  ip route add $right dev left src $left table 77
  ip route add $left dev right src $right table 77
  ip rule add pref 1 to $left iif left lookup local
  ip rule add pref 1 to $right iif right lookup local
  ip rule add pref 1 from $left to $left lookup local
  ip rule add pref 1 from $right to $right lookup local
  ip rule add pref 2 to 10.1.0.0/30 lookup 77
  ip rule add pref 100 lookup local
  ip rule del pref 0
  rdma link add rxe0 type rxe netdev left && rdma link add rxe1 type rxe netdev right
}

# rxe_on_a_bridge COUNT: makes RoCE devices with the addresses $(bridged NUMBER), joined by a bridge. Policy routing
# sends traffic between two of them over the bridge.
bridged() { echo "10.2.0.$1"; }
rxe_on_a_bridge() {
  local count=$1 number address
  modprobe -a rdma_rxe ib_uverbs rdma_ucm veth bridge || vm_die 'no rdma_rxe'
  vm_only_driver rxe
  ip link add bridge mtu 9000 type bridge && ip link set bridge up
  echo 50000 >/proc/sys/net/core/netdev_max_backlog
  echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
  echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
  echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore # each device answers for its own address only
  ip rule add pref 100 lookup local
  for ((number = 1; number <= count; ++number)); do
    address=$(bridged "$number")
    ip link add "host$number" mtu 9000 type veth peer name "port$number" mtu 9000
    echo 1 >"/sys/class/net/host$number/queues/rx-0/rps_cpus"
    echo 1 >"/sys/class/net/port$number/queues/rx-0/rps_cpus"
    echo 0 >"/proc/sys/net/ipv4/conf/host$number/rp_filter"
    ip link set "port$number" master bridge up
    ip link set "host$number" up
    ip addr add "$address/32" dev "host$number"
    ip route add 10.2.0.0/24 dev "host$number" src "$address" table "$((100 + number))"
    ip rule add pref 1 to "$address" iif "host$number" lookup local
    ip rule add pref 1 from "$address" to "$address" lookup local
    ip rule add pref 2 from "$address" to 10.2.0.0/24 lookup "$((100 + number))"
  done
  ip rule del pref 0
  for ((number = 1; number <= count; ++number)); do rdma link add "rxe$number" type rxe netdev "host$number" || return 1; done
}

# start_nfsd FABRIC ADDRESS [OPTION...]: starts the server on ports 20050 (RDMA) and 20051 (TCP). It exports /srv/ours
# as /ours, and the memory export /memory. Both exports trust root, because these scripts run as root. $ours_options
# are options of /ours, each with a comma before it; $nfsd_prefix is a command that executes the server.
ours_options=''
nfsd_prefix=()
start_nfsd() {
  mkdir -p "$state"
  rm -f /run/nfsd.out
  "${nfsd_prefix[@]}" "$bin/rpcrdma-nfsd" --export "/srv/ours:/ours,no_root_squash$ours_options" --export memory:/memory,no_root_squash --listen "$1@$2:20050" \
    --tcp-listen "$2:20051" --state-dir "$state" "${@:3}" >/run/nfsd.out 2>>/run/nfsd.err &
  nfsd=$!
  vm_until $patience grep -q ^ready /run/nfsd.out || { cat /run/nfsd.err; vm_die 'rpcrdma-nfsd does not start'; }
  grep -q "fabric=$1" /run/nfsd.out || vm_die "$(</run/nfsd.out)"
}
stop_nfsd() {
  kill -TERM "$nfsd"
  expect 'the server exits with 0' wait "$nfsd"
}

# mount_ours ADDRESS [OPTIONS]: the kernel's client mounts /ours at /mnt; an IPv6 address has brackets.
mount_ours() {
  modprobe -a rpcrdma nfsv3
  mkdir -p /mnt
  local six='' address=${1#[}
  [[ $1 != \[* ]] || six=6
  local options=vers=3,proto=rdma$six,port=20050,nolock,mountproto=tcp$six,mountvers=3,mountport=20051,mountaddr=${address%]}
  mount -t nfs -o "$options${2:+,$2}" "$1:/ours" /mnt
}
# mount_knfsd ADDRESS DIRECTORY: the kernel's client mounts the export of the kernel's server (vm_knfsd) at /run/knfsd.
mount_knfsd() {
  modprobe -a rpcrdma nfsv3
  mkdir -p /run/knfsd
  mount -t nfs -o "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp" "$1:$2" /run/knfsd
}
# Drops all cached file data, so that later reads go to the server.
drop_caches() { sync && echo 3 >/proc/sys/vm/drop_caches; }

# The numbers of the mount's rdma transport, in the order of the kernel's xprt_rdma_print_stats.
transport_statistics() { grep -A40 'mounted on /mnt ' /proc/self/mountstats | sed -n 's/.*xprt:\trdma //p'; }
# no_bad_replies [UNKNOWN]: checks that mountstats counts no bad replies, and at most UNKNOWN (default: 0) unknown XIDs.
# A program that is killed while it waits for a reply can cause an unknown XID.
no_bad_replies() {
  local numbers unknown=${1:-0}
  read -ra numbers < <(transport_statistics)
  ((${#numbers[@]} >= 21 && numbers[2] >= 1 && numbers[7] <= unknown && numbers[19] == 0)) ||
    { echo "mountstats: ${numbers[*]}" && false; }
}

# resources_are BEFORE [HOW]: waits until the command HOW prints BEFORE again, because closed connections remain for a
# while. HOW lists the resources that the RDMA subsystem holds; it is vm_rdma_resources by default.
resources_are() {
  local how=${2:-vm_rdma_resources}
  vm_until 120 eval '[[ $('"$how"') == "'"$1"'" ]]' || { echo "now: $($how)" && echo "before: $1" && false; }
}
# The kernel's server leaks a protection domain and two completion queues if a client aborts a connection before the
# server has accepted it, which can happen when all threads are busy (docs/interop.md). These are not counted.
but_never_accepted() {
  vm_rdma_resources | awk '{
    for (i = 1; i < NF; ++i) if ($i == "pd" || $i == "cq") at[$i] = i + 1
    $at["cq"] -= 2 * $at["pd"]
    $at["pd"] = "-"
    print
  }'
}
# A running server keeps the memory of its pools registered, but deregisters some of it while idle. So compare without
# the memory regions: first `idle=$(but_memory)`, later `holds_no_more`.
registered_regions() { vm_rdma_resources | awk '{ for (i = 1; i < NF; ++i) if ($i == "mr") n += $(i + 1) } END { print n + 0 }'; }
but_memory() { vm_rdma_resources | sed 's/ mr [0-9]*//'; }
holds_no_more() { vm_until 120 eval '[[ $(but_memory) == "$idle" ]]' || { but_memory && echo "before: $idle" && false; }; }

# start_capture FILE INTERFACE FILTER... begins a capture; stop_capture ends it, and moves FILE to $VM_OUT.
start_capture() {
  local file=$1 interface=$2
  shift 2
  tcpdump -i "$interface" -s 0 -B 65536 -w "/run/$file" "$@" 2>/run/tcpdump.log &
  tcpdump=$!
  vm_until $patience grep -q 'listening on' /run/tcpdump.log || vm_die "$(</run/tcpdump.log)"
}
# Prints the number of packets that tcpdump has read; tcpdump reads them from the kernel once a second, and prints the
# number at SIGUSR1.
packets_read() {
  local answers
  answers=$(grep -c captured /run/tcpdump.log)
  kill -USR1 "$tcpdump"
  vm_until $patience eval '(($(grep -c captured /run/tcpdump.log) > '"$answers"'))'
  grep -o '[0-9]* packets\? captured' /run/tcpdump.log | tail -n 1
}
reads_no_more() {
  local before
  before=$(packets_read) && [[ $before == "$(packets_read)" ]]
}
stop_capture() {
  sleep 1.2
  expect 'all is captured' vm_until $patience reads_no_more
  kill -INT "$tcpdump"
  wait "$tcpdump"
  expect 'the capture is complete' grep -q '^0 packets dropped by kernel' /run/tcpdump.log
  cp /run/*.pcap "$VM_OUT/" && rm /run/*.pcap
}

# Counts events of the kernel. `trace_on EVENT...` begins to count these events of its RPC-over-RDMA code; then `probe_on
# FUNCTION` begins to count the calls of a function. `traced PATTERN` prints how many events match so far.
trace_on() {
  mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
  local event
  echo 16384 >/sys/kernel/tracing/buffer_size_kb
  for event in "$@"; do echo 1 >"/sys/kernel/tracing/events/rpcrdma/$event/enable" || return 1; done
  : >/sys/kernel/tracing/trace
}
probe_on() {
  echo "p:probes/$1 $1" >/sys/kernel/tracing/kprobe_events && echo 1 >"/sys/kernel/tracing/events/probes/$1/enable"
}
traced() { grep -cE "$1" /sys/kernel/tracing/trace; }
trace_off() {
  echo 0 >/sys/kernel/tracing/events/rpcrdma/enable
  [[ ! -d /sys/kernel/tracing/events/probes ]] || echo 0 >/sys/kernel/tracing/events/probes/enable
}
