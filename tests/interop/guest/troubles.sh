# SPDX-License-Identifier: BSD-3-Clause
# File systems that are full, at a user's quota, or on a failing disk: programs get the same errors through the kernel's
# client from the kernel's server and from rpcrdma-nfsd.
#   scripts/vm run tests/interop/guest/troubles.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
few='--credits 8' # little data in flight: rxe.sh says why

# disk_KIND NAME: makes a file system of that kind at /srv/NAME.
disk_full() { vm_ext4 "/srv/$1" 40; }

disk_quota() {
  modprobe -a loop ext4 quota_v2
  truncate -s 100M "/run/vm/$1.quota"
  mkfs.ext4 -q -F -O quota,^has_journal -E quotatype=usrquota "/run/vm/$1.quota"
  mkdir -p "/srv/$1"
  mount -o loop,usrquota "/run/vm/$1.quota" "/srv/$1"
  python3 -B "$tests/interop/guest/set_quota.py" "$(findmnt -no SOURCE "/srv/$1")" 1000 $((2 << 20)) 20
}

disk_failing() {
  modprobe -a loop dm-mod ext4
  truncate -s 100M "/run/vm/$1.failing"
  local loop
  loop=$(losetup -f --show "/run/vm/$1.failing")
  mkfs.ext4 -q -F -b 4096 -O ^has_journal "$loop"
  good="0 $(blockdev --getsz "$loop") linear $loop 0"
  dmsetup --noudevsync create failing --table "$good"
  dmsetup mknodes
  cat >/run/disk <<END
#!/bin/bash
sync
echo 1 >/proc/sys/vm/drop_caches
table='$good'
[[ \$1 == mend ]] || table='0 $(blockdev --getsz "$loop") error'
dmsetup --noudevsync suspend --nolockfs failing
dmsetup --noudevsync reload failing --table "\$table"
dmsetup --noudevsync resume failing
END
  chmod +x /run/disk
  mkdir -p "/srv/$1"
  mount /dev/mapper/failing "/srv/$1"
}
gone() {
  umount "/srv/$1"
  if dmsetup info failing >/dev/null 2>&1; then dmsetup --noudevsync remove failing; fi
}

# told KIND NAME FOLDER: runs the group KIND of troubles.py in FOLDER; its output goes to NAME.txt.
told() {
  python3 -B "$tests/interop/posix/troubles.py" "$3" "$1" /run/disk >>"$VM_OUT/$2.txt" 2>/run/client.err
}

on_the_kernel() {
  "disk_$1" knfsd
  if pidof rpc.mountd >/dev/null; then exportfs -ra; else vm_knfsd /srv/knfsd 20049; fi
  must 'mount' mount_knfsd $right /srv/knfsd
  expect "$1 on the kernel's server" told "$1" knfsd /run/knfsd
  umount /run/knfsd
  exportfs -ua
  gone knfsd
}
on_ours() {
  "disk_$1" ours
  start_nfsd verbs $right $few
  must 'mount' mount_ours $right
  expect "$1 on rpcrdma-nfsd" told "$1" ours /mnt
  expect 'umount' umount /mnt
  stop_nfsd
  gone ours
}

rm -f "$VM_OUT"/*.txt
rxe_with_a_wire || vm_die 'no RoCE devices'
for each in full quota failing; do
  part "$each"
  on_the_kernel $each
  on_ours $each
done
part compared
cat "$VM_OUT/ours.txt"
expect 'programs get the same errors' diff -U 0 "$VM_OUT/knfsd.txt" "$VM_OUT/ours.txt"
part end
finish
