# SPDX-License-Identifier: BSD-3-Clause
# Compares a NULL call on rxe, of our client on our server, with the round trip of two Sends by perftest, in turn. Also
# prints the processor time of each side for a call when nothing polls. Most of the part in user space is work that the
# Sends do not have. In the virtual machine:
#   scripts/vm run -t 900 bench/vm/null.sh BUILD_FOLDER [ROUNDS]
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../tests/interop/guest/lib.sh"
rounds=${2:-7} calls=5000

command -v ib_send_lat >/dev/null || vm_die 'perftest is not installed'
rxe_with_a_wire || vm_die 'no RoCE devices'
mkdir -p /srv/ours
# ping COUNT [OPTION]... prints the median in microseconds.
ping() { "$bin/rpcrdma-ping" --fabric verbs --count "$1" "${@:2}" "$right:20050" | sed -n 's/.*median=\([0-9.]*\).*/\1/p'; }
listens() { rdma resource show cm_id | grep 'comm ib_send_lat' | grep -q 'state LISTEN'; }
# Prints the round trip in microseconds; perftest prints half of it.
sends() {
  timeout 60 ib_send_lat -R -d rxe1 -s 128 -n 2000 >/run/perftest.server 2>&1 &
  local server=$!
  if vm_until 20 listens; then
    timeout 60 ib_send_lat -R -d rxe0 -s 128 -n 2000 "$right" 2>>/run/perftest.server |
      awk '$1 ~ /^[0-9]+$/ && NF >= 4 { value = 2 * $5 } END { print value }'
  fi
  wait "$server"
}
start_nfsd verbs $right --credits 32
for ((round = 0; round < rounds; ++round)); do
  null=$(ping "$calls") sends=$(sends)
  [[ -n $null && -n $sends ]] || vm_die "no figure: NULL $null, Sends $sends"
  echo "NULL $null us, Sends $sends us, ratio $(awk -v a="$null" -v b="$sends" 'BEGIN { printf "%.2f", a / b }')"
done
stop_nfsd

start_nfsd verbs $right --credits 32 --poll off
ticks() { sed 's/.*) //' "/proc/$nfsd/stat" | cut -d' ' -f"$1"; }
# costs COUNT prints the processor time of COUNT calls in seconds: the client's in user space and in the kernel, and the
# server's.
costs() {
  local user system TIMEFORMAT='%U %S'
  user=$(ticks 12) system=$(ticks 13)
  { time ping "$1" --poll off >/run/median; } 2>&1
  awk -v in_user=$(($(ticks 12) - user)) -v in_kernel=$(($(ticks 13) - system)) -v hz="$(getconf CLK_TCK)" \
    'BEGIN { print in_user / hz, in_kernel / hz }'
}
once=$(costs 1) many=$(costs "$((calls + 1))")
[[ -s /run/median ]] || vm_die 'no figure without polling'
echo $once $many | awk -v n=$calls '{
  printf "without polling, us of processor time for a call: client %.0f in user space, %.0f in the kernel; server %.0f, %.0f\n",
    ($5 - $1) * 1e6 / n, ($6 - $2) * 1e6 / n, ($7 - $3) * 1e6 / n, ($8 - $4) * 1e6 / n }'
echo "without polling, NULL takes $(</run/median) us"
stop_nfsd
finish
