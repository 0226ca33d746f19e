# SPDX-License-Identifier: BSD-3-Clause
# Programs print the same lines through the kernel's client on rpcrdma-nfsd as on the kernel's server or, where those
# differ, as on a local file system.
#   scripts/vm run tests/interop/guest/posix.sh BUILD_FOLDER [GROUP]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
shift
few='--credits 8' # little data in flight: rxe.sh says why
check=$tests/interop/posix/check.py

# prepare FOLDER: makes FOLDER/check, and in it the large directory that a check reads.
prepare() { mkdir "$1/check" && python3 -B "$check" --prepare "$1/check"; }
# check_on NAME FOLDER GROUP...: runs the checks in FOLDER, and writes the lines that they print to $VM_OUT/NAME.txt.
check_on() {
  python3 -B "$check" "$2/check" "${@:3}" >"$VM_OUT/$1.txt" 2>/run/client.err
  local status=$?
  cp /run/client.err "$VM_OUT/$1.times"
  return $status
}

# differences: prints the lines that the checks print on rpcrdma-nfsd, but not on the kernel's server. Succeeds if they
# print all of these on the local file system as well: in these cases the kernel's server supports less than a local
# file system.
differences() {
  diff -U 0 "$VM_OUT/knfsd.txt" "$VM_OUT/ours.txt" | sed -n '/^+++/d;s/^+//p' >/run/differ
  grep -Fxf "$VM_OUT/local.txt" /run/differ | sed 's/^/as on the local file system, unlike the server of the kernel: /'
  ! grep -vFxf "$VM_OUT/local.txt" /run/differ
}

rm -f "$VM_OUT"/*.txt
rxe_with_a_wire || vm_die 'no RoCE devices'
for each in ours knfsd local; do
  vm_ext4 /srv/$each 100
  prepare /srv/$each
done
part 'the file system itself'
expect 'the checks run' check_on local /srv/local "$@"
part 'the kernel serves'
vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
must 'mount' mount_knfsd $right /srv/knfsd
expect 'the checks run' check_on knfsd /run/knfsd "$@"
part 'we serve'
ours_options=,devices
start_nfsd verbs $right $few
must 'mount' mount_ours $right
expect 'the checks run' check_on ours /mnt "$@"
expect 'no bad replies' no_bad_replies
part "compared: $(wc -l <"$VM_OUT/ours.txt") lines"
expect 'no line is missing' test "$(wc -l <"$VM_OUT/ours.txt")" -eq "$(wc -l <"$VM_OUT/knfsd.txt")"
expect 'programs observe the same' differences
expect 'umount' umount /mnt /run/knfsd
stop_nfsd
rpc.nfsd 0
part end
finish
