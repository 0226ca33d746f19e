# SPDX-License-Identifier: BSD-3-Clause
# The kernel's client on rpcrdma-nfsd. Needs lib.sh. `address` and `fabric` are the server's, `few` its other options;
# $input has `big` and `tree.tar`.

# A large file is written, dropped from the cache, and read back.
mount_large_file() {
  expect 'a large file is written' eval "cp $input/big /mnt/big && sync"
  expect 'the server holds the same file' cmp "$input/big" /srv/ours/big
  drop_caches
  expect 'it is read back' cmp "$input/big" /mnt/big
  rm /mnt/big
}

mount_tree() {
  mkdir -p /run/tree5000
  tar -C /run/tree5000 -xf "$input/tree.tar"
  expect "a tree of $(find /run/tree5000 -type f | wc -l) files is unpacked" \
    eval "mkdir /mnt/tree && tar -C /mnt/tree --no-same-owner -xf $input/tree.tar"
  drop_caches
  expect 'diff -r' diff -r --no-dereference /run/tree5000 /mnt/tree
  expect 'rm -rf' rm -rf /mnt/tree
  expect 'no file is left' test ! -e /srv/ours/tree
  rm -rf /run/tree5000
}

# mount_fio SIZE: fio verifies its own writes, in blocks of many sizes.
mount_fio() {
  expect 'fio with verification' fio --name=verify --directory=/mnt --size="$1" --rw=randwrite --bsrange=512-1m \
    --bs_unaligned=1 --ioengine=psync --fallocate=none --verify=crc32c --do_verify=1 --verify_fatal=1 --end_fsync=1 \
    --output=/run/client.err
  expect 'fio without the cache' fio --name=direct --directory=/mnt --size="$1" --rw=randwrite --bsrange=4k-256k \
    --ioengine=libaio --iodepth=8 --direct=1 --fallocate=none --verify=crc32c --do_verify=1 --verify_fatal=1 \
    --output=/run/client.err
  rm -f /mnt/verify* /mnt/direct*
}

# mount_restart MEGABYTES: the server is killed during a copy and started again; a hard mount loses nothing.
mount_restart() {
  head -c "${1}M" "$input/big" >/run/piece
  dd if=/run/piece of=/mnt/copy bs=1M conv=fsync 2>/run/client.err &
  local copy=$!
  expect 'the copy is in progress' vm_until $patience eval '(($(stat -c %b /srv/ours/copy 2>/dev/null || echo 0) > 2048))'
  kill -KILL "$nfsd"
  wait "$nfsd" 2>/dev/null
  expect 'the copy waits' kill -0 "$copy"
  start_nfsd "$fabric" "$address" $few
  expect 'the copy ends' wait "$copy"
  expect 'the file is identical' cmp /run/piece /srv/ours/copy
  rm -f /mnt/copy /run/piece
}

# mount_client_goes DEVICE LINK_OPTION...: the device of the kernel's client is removed during a copy, and comes back.
mount_client_goes() {
  local idle copy
  idle=$(but_memory)
  must 'mount' mount_ours "$address"
  dd if="$input/big" of=/mnt/copy bs=1M count=60 conv=fsync 2>/run/client.err &
  copy=$!
  expect 'the copy is in progress' vm_until $patience eval '(($(stat -c %b /srv/ours/copy 2>/dev/null || echo 0) > 2048))'
  must "the client's device is removed" timeout $patience rdma link delete "$1"
  [[ $fabric != verbs ]] ||
    expect 'the server ends its connection' vm_until $patience eval '! rdma resource show qp | grep -q rpcrdma-nfsd'
  expect 'the copy waits' kill -0 "$copy"
  rdma link add "$@"
  expect 'the device is back, and the copy ends' wait "$copy"
  expect 'the file is identical' cmp -n $((60 << 20)) "$input/big" /srv/ours/copy
  rm /mnt/copy
  expect 'umount' umount /mnt
  [[ $fabric != verbs ]] || expect 'the server has released its resources' holds_no_more
}

# mount_cycles COUNT
mount_cycles() {
  local i
  for ((i = 0; i < $1; ++i)); do mount_ours "$address" && : >/mnt/cycle && rm /mnt/cycle && umount /mnt || return 1; done
}

# Makes the transfers that a capture must show: bulk data in both directions, long replies. No piece of the data fits
# inline.
mount_for_the_capture() {
  must 'mount for the capture' mount_ours "$address" rsize=65536,wsize=65536
  head -c $((23 * 65536)) "$input/big" >/mnt/bulk && sync
  expect 'a link of 4,000 bytes' ln -s "$(printf '%04d/' {1..800})" /mnt/long
  mkdir /mnt/many
  (cd /mnt/many && seq 100 | xargs touch)
  drop_caches
  expect 'bulk data' cmp -n $((23 * 65536)) "$input/big" /mnt/bulk
  expect 'a directory' same_output 'ls /mnt/many' <(seq 100 | sort)
  expect 'a long link' test "$(readlink /mnt/long)" = "$(printf '%04d/' {1..800})"
  rm -r /mnt/many /mnt/long /mnt/bulk
  expect 'umount' umount /mnt
}

# mount_captured FILE INTERFACE FILTER...: captures a mount. Starts the server, and leaves it running.
mount_captured() {
  start_nfsd "$fabric" "$address" $few
  start_capture "$@"
  mount_for_the_capture
  stop_capture
}

# mount_everything: checks a mount with copies, fio, a restart of the server and repeated mounts; then stops the server.
mount_everything() {
  must 'mount' mount_ours "$address"
  expect 'the mount uses RDMA and transfers of 1 MiB' eval "grep -A9 'mounted on /mnt ' /proc/self/mountstats | grep -q 'rsize=1048576,wsize=1048576.*proto=rdma'"
  mount_large_file
  mount_tree
  mount_fio 12m
  mount_restart 64
  expect 'no bad replies' no_bad_replies
  expect 'umount' umount /mnt
  mounts_leave_nothing "$(few_or_many 5 20)"
  stop_nfsd
}

# mounts_leave_nothing COUNT: checks that COUNT mounts leave no resources in use. Needs a running server.
mounts_leave_nothing() {
  mount_cycles 1
  local idle regions descriptors
  idle=$(but_memory) regions=$(registered_regions) descriptors=$(ls "/proc/$nfsd/fd" | wc -l)
  expect "$1 mounts" mount_cycles "$1"
  if [[ $fabric == verbs ]]; then
    expect 'the server has released their resources' holds_no_more
    expect 'and their memory' vm_until 120 eval '(($(registered_regions) <= '"$regions"'))'
  fi
  expect 'and their descriptors' vm_until 120 eval '(($(ls "/proc/$nfsd/fd" | wc -l) <= '"$descriptors"'))'
}
