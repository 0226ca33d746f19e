# SPDX-License-Identifier: BSD-3-Clause
# Measures on rxe, in turn: the kernel's client on our server, the kernel's client on the kernel's server, and our
# client on the kernel's server; both servers serve the same ext4 file system in a loop file. If perftest is installed,
# also compares our client on our server, with files in memory, to perftest. It moves the same bytes without any
# protocol above verbs. Prints medians and ratios. In the virtual machine:
#   scripts/vm run -t 900 -m 4096 bench/vm/ratios.sh BUILD_FOLDER [ROUNDS [SECONDS]]
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../tests/interop/guest/lib.sh"
rounds=${2:-7} seconds=${3:-3}
few='--credits 32'

# by_kernel FOLDER CASE: measures the kernel's client with fio, without the client's cache. Prints MB/s, or calls a
# second for the random case.
by_kernel() {
  local options
  case $2 in
    read_1m) options='--rw=read --bs=1m --iodepth=8' ;;
    write_1m) options='--rw=write --bs=1m --iodepth=8' ;;
    random_4k) options='--rw=randread --bs=4k --iodepth=16 --numjobs=2 --group_reporting' ;;
  esac
  fio --name=ratio --filename="$1/data" --size=64m --direct=1 --ioengine=libaio --time_based --runtime="$seconds" \
    --ramp_time=1 --fallocate=none --output-format=terse $options |
    awk -F';' -v name="$2" '{ print name == "random_4k" ? $8 : (name == "read_1m" ? $7 : $48) * 1.024 / 1000 }'
}

# by_us CASE: measures this project's client with the kernel's server.
by_us() {
  local options field=mb_s
  case $1 in
    read_1m) options='--depth 8' ;;
    write_1m) options='--depth 8 --write --sync' ;;
    random_4k) options='--block 4096 --depth 32 --random' field=iops ;;
  esac
  "$bin/rpcrdma-load" --fabric verbs --root-handle 0100010000000000 --seconds "$seconds" $options \
    "nfs://$right:20049/root/data" | sed "s/.*$field=\([0-9.]*\).*/\1/"
}

# both_ours CASE: measures this project's client with this project's server.
both_ours() {
  local options field=mb_s
  case $1 in
    null_rtt)
      "$bin/rpcrdma-ping" --fabric verbs --count 2000 "$right:20050" | sed -n 's/.*median=\([0-9.]*\).*/\1/p'
      return
      ;;
    read_1m) options='--depth 8' ;;
    write_1m) options='--depth 8 --write' ;;
  esac
  "$bin/rpcrdma-load" --fabric verbs --seconds "$seconds" $options "nfs://$right:20050/memory/data" |
    sed "s/.*$field=\([0-9.]*\).*/\1/"
}

perftest_listens() { rdma resource show cm_id | grep "comm $1" | grep -q 'state LISTEN'; }
# by_perftest CASE: measures round trips of Sends for null_rtt, RDMA Writes for read_1m, and RDMA Reads for write_1m.
by_perftest() {
  local program options
  case $1 in
    null_rtt) program=ib_send_lat options='-s 128 -n 2000' ;;
    read_1m) program=ib_write_bw options="-s 1048576 -t 8 -n $((seconds * 50))" ;;
    write_1m) program=ib_read_bw options="-s 1048576 -t 8 -n $((seconds * 50))" ;;
  esac
  timeout 60 $program -R -d rxe1 $options >/run/perftest.server 2>&1 &
  local server=$!
  vm_until 20 perftest_listens $program || return
  # perftest prints half a round trip as latency, and bandwidth in MiB/s.
  timeout 60 $program -R -d rxe0 $options "$right" 2>>/run/perftest.server |
    awk -v name="$1" '$1 ~ /^[0-9]+$/ && NF >= 4 { value = name == "null_rtt" ? 2 * $5 : $4 * 1.048576 }
      END { print value }'
  wait $server
}

median() { tr ' ' '\n' <<<"$*" | grep . | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

rxe_with_a_wire || vm_die 'no RoCE devices'
vm_ext4 /srv/ours 300
head -c 64M /dev/urandom >/srv/ours/data
# By default, the kernel's server offers a maximum transfer size below 1 MiB on a machine with little memory.
modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd && echo 1048576 >/proc/fs/nfsd/max_block_size
vm_knfsd /srv/ours 20049 || vm_die 'the kernel does not serve NFS over RDMA'
start_nfsd verbs $right $few
mount_ours $right || vm_die 'mounting the export of this server failed'
mkdir -p /kernels
mount -t nfs -o vers=3,proto=rdma,port=20049,nolock,mountproto=tcp "$right:/srv/ours" /kernels ||
  vm_die "mounting the export of the kernel's server failed"
printf '%-10s %12s %12s %7s %12s %7s\n' case 'on ours' 'on knfsd' ratio 'our client' ratio
for case in read_1m write_1m random_4k; do
  ours='' kernels='' clients=''
  for ((round = 0; round < rounds; ++round)); do
    ours+="$(by_kernel /mnt $case) "
    kernels+="$(by_kernel /kernels $case) "
    clients+="$(by_us $case) "
  done
  a=$(median "$ours") b=$(median "$kernels") c=$(median "$clients")
  awk -v n=$case -v a="$a" -v b="$b" -v c="$c" \
    'BEGIN { printf "%-10s %12.1f %12.1f %7.2f %12.1f %7.2f\n", n, a, b, a / b, c, c / b }'
  echo "  on ours: $ours| on knfsd: $kernels| our client: $clients"
done
if command -v ib_send_lat >/dev/null; then
  "$bin/rpcrdma-nfs" --fabric verbs put /srv/ours/data "nfs://$right:20050/memory/data" 2>>/run/client.err
  printf '%-10s %12s %12s %7s\n' case 'both ours' perftest ratio
  for case in null_rtt read_1m write_1m; do
    ours='' theirs=''
    for ((round = 0; round < rounds; ++round)); do
      ours+="$(both_ours $case) "
      theirs+="$(by_perftest $case) "
    done
    awk -v n=$case -v a="$(median "$ours")" -v b="$(median "$theirs")" \
      'BEGIN { printf "%-10s %12.1f %12.1f %7.2f\n", n, a, b, (b > 0 ? a / b : 0) }'
    echo "  ours: $ours| perftest: $theirs"
  done
else
  echo 'perftest is not installed'
fi
umount /mnt /kernels
stop_nfsd
rpc.nfsd 0
finish
