# SPDX-License-Identifier: BSD-3-Clause
# rpcrdma-proxy on siw, between the kernel's client and rpcrdma-nfsd, and between rpcrdma-nfs and the kernel's server. Needs
# lib.sh and /run/tree; all programs use $address. $FAULTS_SEED selects the random faults.

# start_proxy PORT [SETTING]: relays from port 20060 to PORT, with random faults; SETTING is added to their rule.
start_proxy() {
  rm -f /run/proxy.out
  "$bin/rpcrdma-proxy" --listen "$address:20060" --to "$address:$1" --seed "${FAULTS_SEED:-1}" \
    --fault "random connections=1000 each=3 ${2-}" >/run/proxy.out 2>/run/proxy.err &
  proxy=$!
  vm_until $patience grep -q ^ready /run/proxy.out || { cat /run/proxy.err; vm_die 'no rpcrdma-proxy'; }
}
# A rule that acts on several messages logs at most one fault for each direction of a connection.
faults() { grep -c ' info: fault ' /run/proxy.err; }
# stop_proxy NAME: stops the proxy, and copies its log to NAME.log.
stop_proxy() {
  kill -TERM "$proxy"
  expect 'the proxy exits with 0' wait "$proxy"
  grep '^counters ' /run/proxy.err | tail -n 1
  cp /run/proxy.err "$VM_OUT/$1.log"
}

# faulty_rounds COUNT ROUND: executes ROUND until COUNT faults have happened. Each round opens at least one connection,
# because the faults of a connection are limited.
faulty_rounds() {
  local count=$1 number=0 shown=$SECONDS before=0 last=0
  while (($(faults) < count)); do
    if (($(faults) > before)); then before=$(faults) last=$number; fi
    ((number < last + 10)) || { echo "ten rounds without a fault, after $before faults" && return 1; }
    "$2" $((++number)) || { echo "round $number failed, after $(faults) faults" && return 1; }
    ((SECONDS < shown + 60)) || { shown=$SECONDS && echo "after $SECONDS s: $number rounds, $(faults) faults"; }
  done
  echo "$number rounds, $(faults) faults"
}

# The input of a round. Each step of a round must succeed: a call that is not idempotent fails if it is executed twice.
faults_tree=/run/tree
mounted_round() {
  local top=/mnt/round$1 served=/srv/ours/round$1
  # A fault in the start-up of the connection may fail a mount.
  local attempts=0
  until mount -t nfs -o "$mount_options" "$address:/ours" /mnt; do ((++attempts < 10)) || return 1; done
  mkdir "$top" && cp -a "$faults_tree" "$top/tree" || return 1
  mkdir "$top/made" "$top/made/a" && mv "$top/made/a" "$top/made/b" && rmdir "$top/made/b" || return 1
  ln -s ../tree "$top/made/soft" && cp /run/tree/deep/er/file9 "$top/made/file" && ln "$top/made/file" "$top/made/hard" &&
    mv "$top/made/hard" "$top/made/moved" && rm "$top/made/file" || return 1
  drop_caches
  diff -r --no-dereference "$faults_tree" "$top/tree" && same_as_made "$top/made" || return 1
  diff -r --no-dereference "$faults_tree" "$served/tree" && same_as_made "$served/made" || return 1
  rm -r "$top" && umount /mnt && [[ ! -e $served ]]
}
same_as_made() {
  [[ $(readlink "$1/soft") == ../tree && $(ls "$1") == $'moved\nsoft' ]] && cmp /run/tree/deep/er/file9 "$1/moved"
}

faults_linux() {
  start_nfsd iwarp "$address" --crc on
  start_proxy 20050 "${2-}"
  modprobe -a rpcrdma nfsv3
  mount_options=vers=3,proto=rdma,port=20060,nolock,timeo=100,mountproto=tcp,mountvers=3,mountport=20051,mountaddr=$address
  expect "the kernel's client, $1 faults" faulty_rounds "$1" mounted_round
  ! mountpoint -q /mnt || umount -f /mnt
  stop_proxy faults-linux
  stop_nfsd
}

client_round() {
  local top=nfs://$address:20060/root/round$1 served=/srv/knfsd/round$1
  ours mkdir "$top" && ours put -r "$faults_tree" "$top/tree" && ours mkdir "$top/made" && ours mkdir "$top/made/a" || return 1
  ours mv "$top/made/a" "$top/made/b" && ours rm -r "$top/made/b" && ours ln -s ../tree "$top/made/soft" || return 1
  ours put /run/tree/deep/er/file9 "$top/made/file" && ours ln "$top/made/file" "$top/made/hard" &&
    ours mv "$top/made/hard" "$top/made/moved" && ours rm "$top/made/file" || return 1
  rm -rf /run/back
  ours get -r "$top" /run/back || return 1
  diff -r --no-dereference "$faults_tree" /run/back/tree && same_as_made /run/back/made || return 1
  diff -r --no-dereference "$faults_tree" "$served/tree" && same_as_made "$served/made" || return 1
  ours rm -r "$top" && [[ ! -e $served ]]
}
ours() {
  timeout $patience "$bin/rpcrdma-nfs" --fabric iwarp --crc on --root-handle 0100010000000000 "$@" 2>/run/client.err ||
    { echo "$*: $(</run/client.err)" && false; }
}

# The proxy does not disturb the start-up of connections to siw, nor what siw reads.
faults_ours() {
  start_proxy 20049 'start-up=no without=read-response'
  expect "rpcrdma-nfs on the kernel's server, $1 faults" faulty_rounds "$1" client_round
  stop_proxy faults-ours
  rm -rf /run/back
}
