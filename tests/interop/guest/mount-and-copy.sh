#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The command that `rpcrdma-conform client` runs to test the kernel's client: mounts, copies the export, unmounts.
#   mount-and-copy.sh ADDRESS PORT MOUNT_PORT FOLDER
# The mount is soft: a call that is not answered fails after two times `timeo` (tenths of a second). The option noacl
# omits the NULL call of NFSACL, whose failure the kernel would ignore.
# Unmounts what an earlier case has left mounted because its command was killed.
awk '$2 ~ "^/run/linux-" { print $2 }' /proc/mounts | xargs -r umount -l
mount=$(mktemp -d /run/linux-XXXXXX)
options=vers=3,proto=rdma,port=$2,nolock,noacl,nosharecache,soft,timeo=50,retrans=1
timeout 60 mount -t nfs -o "$options,mountproto=tcp,mountvers=3,mountport=$3,retry=0" "$1:/memory" "$mount" || exit 1
status=0
timeout 60 cp -a "$mount/." "$4" || status=1
timeout 30 umount "$mount" || { umount -f -l "$mount" && status=1; }
exit "$status"
