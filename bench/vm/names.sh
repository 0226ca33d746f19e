# SPDX-License-Identifier: BSD-3-Clause
# Times operations on names and attributes, one at a time, and programs such as tar and git, by the kernel's client on
# rxe: in turn on our server and on the kernel's server, which serve one ext4 file system in a loop file, with or without
# a journal. Prints medians in milliseconds and the ratio of the rates; also the processor time of our server in user
# space, and the ratio if our server took only this time in addition to that of the kernel's server. OPTIONs are those of
# our server: with --poll off, the processor time is that of the operations alone. In the virtual machine:
#   scripts/vm run -t 900 bench/vm/names.sh BUILD_FOLDER [journal|nojournal [ROUNDS [COUNT [OPTION]...]]]
# With -e BIND=1, our server runs on the first processor, and the measured programs, for both servers, on the second one.
# The emulated processor then need not change between the address spaces of two programs, as one with tags for them.
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../tests/interop/guest/lib.sh"
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
kind=${2:-journal} rounds=${3:-7} count=${4:-40}

rxe_with_a_wire || vm_die 'no RoCE devices'
vm_ext4 /srv/ours 300 "$kind"
vm_knfsd /srv/ours 20049 || vm_die 'the kernel does not serve NFS over RDMA'
start_nfsd verbs $right --credits 32 "${@:5}"
bound=()
if [[ -n ${BIND-} ]]; then
  for task in "/proc/$nfsd/task/"*; do taskset -cp 0 "${task##*/}" >/dev/null; done
  bound=(taskset -c 1)
fi
mount_ours $right || vm_die 'mounting the export of this server failed'
mount_knfsd $right /srv/ours || vm_die "mounting the export of the kernel's server failed"

# one_round SIDE FOLDER [PID] prints lines of SIDE;KIND;MILLISECONDS;MILLISECONDS_OF_PROCESSOR.
one_round() {
  "${bound[@]}" python3 -B "$here/names.py" "$2/names" "$count" "${@:3}" | sed "s/^/$1;/"
  rm -r "$2/names"
}
for ((i = 0; i < rounds; ++i)); do
  one_round ours /mnt "$nfsd"
  one_round theirs /run/knfsd
done >/run/names
umount /mnt /run/knfsd

echo "ext4, $kind: ms each, $count of a kind, programs on $((5 * count)) files; medians of $rounds rounds${BIND:+, bound}"
printf '%-28s %8s %8s %6s %8s %6s\n' '' ours "kernel's" ratio 'our user' bound
cut -d';' -f2 /run/names | awk '!seen[$0]++' | while read -r name; do
  median() { grep "^$1;$name;" /run/names | cut -d';' -f3 | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
  # The mean, because the kernel counts in steps of 10 ms.
  user=$(grep "^ours;$name;" /run/names | cut -d';' -f4 | awk '{ sum += $1 } END { print sum / NR }')
  awk -v name="$name" -v ours="$(median ours)" -v theirs="$(median theirs)" -v user="$user" 'BEGIN {
    printf "%-28s %8.2f %8.2f %6.2f %8.2f %6.2f\n", name, ours, theirs, theirs / ours, user, theirs / (theirs + user) }'
done
stop_nfsd
rpc.nfsd 0
finish
