# SPDX-License-Identifier: BSD-3-Clause
# The power fails right after a reply: every change that the server has confirmed is on the disk. The kernel is kept
# from writing back by itself, so that a copy of the disk holds only the data that the server has synchronized. The
# journal is replayed, or fsck repairs a file system without a journal; then the copy must have the change. With an
# async export the check must find lost changes.
#   scripts/vm run tests/interop/guest/power.sh BUILD_FOLDER [journal|plain|async]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
image=/run/vm/_srv_ours.img
cut=/run/cut

# power_fails CHECK: returns whether CHECK succeeds on a copy of the disk.
power_fails() {
  cp --sparse=always "$image" $cut.img
  # Repairs everything without asking: status 1 is "errors corrected".
  fsck.ext4 -f -y $cut.img >/run/fsck.out 2>&1
  (($? <= 1)) || return 1
  mount -o loop $cut.img $cut || return 1
  (cd $cut && eval "$1")
  local status=$?
  umount $cut
  return $status
}

# step WHAT COMMAND CHECK: runs COMMAND in the mount, and CHECK after the power has failed.
step() {
  (cd /mnt && eval "$2") 2>/run/client.err || { echo "FAILED: $1 itself: $(</run/client.err)" && failed=1 && return; }
  if power_fails "$3"; then
    kept=$((kept + 1))
  else
    lost+=("$1")
  fi
}

# steps: runs all steps. Sets $kept to the number of changes that survive the loss of power, and $lost to the list of
# those that do not.
steps() {
  kept=0 lost=()
  step 'CREATE' ': >file' '[[ -f file && ! -s file ]]'
  step 'exclusive CREATE' 'set -C; : >alone' '[[ -f alone ]]'
  step 'MKDIR' 'mkdir -m 2750 folder' '[[ $(stat -c %a folder) == 2750 ]]'
  step 'MKDIR in it' 'mkdir folder/inner' '[[ -d folder/inner ]]'
  step 'CREATE in it' ': >folder/inner/file' '[[ -f folder/inner/file ]]'
  step 'SYMLINK' 'ln -s away link' '[[ $(readlink link) == away ]]'
  step 'a long SYMLINK' "ln -s $long far" "[[ \$(readlink far) == $long ]]"
  step 'MKNOD' 'mkfifo pipe' '[[ -p pipe ]]'
  step 'LINK' 'ln file other' '[[ file -ef other && $(stat -c %h file) == 2 ]]'
  step 'WRITE and COMMIT' 'head -c 300000 /run/noise | dd of=file bs=64k conv=fsync status=none' 'cmp -n 300000 file /run/noise'
  step 'stable WRITE' 'dd if=/run/noise of=steady bs=5000 count=3 oflag=sync status=none' 'cmp -n 15000 steady /run/noise'
  step 'WRITE behind the end' 'dd if=/run/noise of=steady bs=5000 seek=9 count=1 oflag=sync status=none' \
    '[[ $(stat -c %s steady) == 50000 ]] && cmp -n 5000 -i 45000:0 steady /run/noise'
  step 'SETATTR of the size' 'truncate -s 100 steady' '[[ $(stat -c %s steady) == 100 ]]'
  step 'SETATTR of the mode' 'chmod 604 file' '[[ $(stat -c %a file) == 604 ]]'
  step 'SETATTR of the owner' 'chown 1000:1001 file' '[[ $(stat -c %u:%g file) == 1000:1001 ]]'
  step 'SETATTR of times' 'touch -d @1000000000 file' '[[ $(stat -c %Y file) == 1000000000 ]]'
  step 'SETATTR of a folder' 'chmod 1711 folder/inner' '[[ $(stat -c %a folder/inner) == 3711 ]]'
  step 'SETATTR of a link' 'chown -h 1000:1001 link' '[[ $(stat -c %u:%g link) == 1000:1001 ]]'
  step 'RENAME' 'mv file moved' '[[ -f moved && ! -e file && other -ef moved ]]'
  step 'RENAME to elsewhere' 'mv moved folder/moved' '[[ -f folder/moved && ! -e moved ]]'
  step 'RENAME onto a file' 'mv -f folder/moved alone' '[[ -s alone && ! -e folder/moved ]]'
  step 'RENAME of a folder' 'mv folder/inner inner' '[[ -f inner/file && ! -e folder/inner && inner/.. -ef . ]]'
  step 'REMOVE' 'rm alone' '[[ ! -e alone && -s other ]]'
  step 'REMOVE of the last name' 'rm other' '[[ ! -e other ]]'
  step 'RMDIR' 'rm inner/file && rmdir inner' '[[ ! -e inner ]]'
  step '60 CREATEs' 'touch folder/{1..60}' '(($(ls folder | wc -l) == 60))'
}

# on_disk KIND OPTIONS: runs `steps` on a new disk, as vm_ext4 makes it with KIND; the server exports it with OPTIONS.
on_disk() {
  vm_ext4 /srv/ours 64 "$1"
  mount -o remount,commit=1000 /srv/ours
  ours_options=$2
  start_nfsd iwarp 127.0.0.1
  modprobe nfsv3
  must 'mount' mount -t nfs -o vers=3,proto=tcp,port=20051,nolock,mountproto=tcp,mountport=20051,sync,noac 127.0.0.1:/ours /mnt
  steps
  expect 'umount' umount /mnt
  stop_nfsd
  umount /srv/ours
  rm "$image"
}
nothing_lost() { ((kept == 26)) || { printf 'lost: %s\n' "${lost[@]}" && false; }; }

shift
parts=("$@")
((${#parts[@]})) || parts=(journal plain async)
mkdir -p $cut /mnt
head -c 300000 /dev/urandom >/run/noise
long=$(printf 'x%.0s' {1..900})
echo 0 >/proc/sys/vm/dirty_writeback_centisecs
for each in "${parts[@]}"; do
  part "$each"
  case $each in
    journal | plain)
      on_disk "${each/plain/}" ''
      expect "$kept changes exist after the power failed" nothing_lost
      ;;
    async)
      on_disk journal ,async
      expect "the check itself detects ${#lost[@]} lost changes" test "${#lost[@]}" -gt 10
      ;;
  esac
done
part end
finish
