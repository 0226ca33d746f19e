# SPDX-License-Identifier: BSD-3-Clause
# Programs that work through the kernel's client, on the kernel's server and on rpcrdma-nfsd: each succeeds on both, and
# results that do not depend on time are the same. Sizes suit an emulated machine.
#   scripts/vm run tests/interop/guest/workloads.sh BUILD_FOLDER [PROGRAM]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/programs.sh"
shift
few='--credits 8' # little data in flight: rxe.sh says why
programs=("$@")
((${#programs[@]})) || programs=(fio dbench postmark bonnie fs_mark stress_ng git gcc)

# run_on NAME FOLDER: runs all programs, each in a folder below FOLDER; the results are in $VM_OUT/NAME.txt.
run_on() {
  local program start
  for program in "${programs[@]}"; do
    mkdir "$2/$program" /run/results
    start=$SECONDS
    (cd "$2/$program" && "run_$program" /run/results/out) >/run/client.err 2>&1
    echo "$program: status $?" >/run/results/all
    [[ ! -e /run/results/out ]] || sed "s/^/$program: /" /run/results/out >>/run/results/all
    cat /run/results/all >>"$VM_OUT/$1.txt"
    expect "$program on $1 ends well after $((SECONDS - start)) s" grep -q 'status 0' /run/results/all
    rm -rf "${2:?}/$program" /run/results
  done
}

rm -f "$VM_OUT"/*.txt
rxe_with_a_wire || vm_die 'no RoCE devices'
vm_ext4 /srv/ours 700
vm_ext4 /srv/knfsd 700
part 'the kernel serves'
vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
must 'mount' mount_knfsd $right /srv/knfsd
run_on knfsd /run/knfsd
expect 'umount' umount /run/knfsd
rpc.nfsd 0
part 'we serve'
ours_options=,devices
start_nfsd verbs $right $few
must 'mount' mount_ours $right
run_on ours /mnt
expect 'no bad replies' no_bad_replies 100 # stress-ng kills its children
expect 'nothing is left' test -z "$(find /srv/ours -mindepth 1 -not -name lost+found)"
expect 'umount' umount /mnt
stop_nfsd
part compared
cat "$VM_OUT/ours.txt"
expect 'the results are the same' diff -U 0 "$VM_OUT/knfsd.txt" "$VM_OUT/ours.txt"
part end
finish
