# SPDX-License-Identifier: BSD-3-Clause
# Finds and copies files of this machine as input, and finds disk space for them.

# find_tree MIN prints the first well-known folder that holds at least MIN readable files below 4 MiB.
find_tree() {
  local folder
  for folder in /usr/include /usr/share/doc /usr/lib/python3 /usr/share /usr/lib; do
    [[ -d $folder ]] || continue
    if (($(find "$folder" -xdev -type f -readable -size -4096k 2>/dev/null | head -n "$1" | wc -l) >= $1)); then
      printf '%s\n' "$folder"
      return
    fi
  done
  return 1
}

# copy_tree FOLDER MAX DESTINATION copies at most MAX links and files below 4 MiB, with their folders.
copy_tree() {
  local folder=$1 max=$2 destination=$3
  mkdir -p "$destination"
  (cd "$folder" && find . -xdev \( -type f -readable -size -4096k -o -type l \) -print0 2>/dev/null) |
    sort -z | { head -z -n "$max"; cat >/dev/null; } |
    tar -C "$folder" --null --no-recursion -T - -cf - | tar -C "$destination" --no-same-owner -xf -
}

# free_mib PATH: prints the free disk space at PATH in MiB.
free_mib() { df --output=avail -BM "$1" | tail -n 1 | tr -dc 0-9; }

# roomy_folder MIB prints the first of $TMPDIR (default: /tmp), /var/tmp and the current folder that has MIB MiB free.
roomy_folder() {
  local folder
  for folder in "${TMPDIR:-/tmp}" /var/tmp "$PWD"; do
    if [[ -d $folder && -w $folder ]] && (($(free_mib "$folder") >= $1)); then
      printf '%s\n' "$folder"
      return
    fi
  done
  return 1
}
