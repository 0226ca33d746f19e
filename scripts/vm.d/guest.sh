# SPDX-License-Identifier: BSD-3-Clause
# Functions for scripts that run in the virtual machine. The machine's addresses are $VM_ADDRESS and $VM_ADDRESS6. Files
# in the folder $VM_OUT are copied to the host.
VM_ADDRESS=10.0.2.15
VM_ADDRESS6=fd00::15

vm_die() {
  echo "$*" >&2
  exit 1
}

# vm_until SECONDS COMMAND...: repeats COMMAND until it succeeds; false at the time limit.
vm_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# vm_only_driver NAME removes the other drivers of libibverbs, which loads all of them into every program.
vm_only_driver() { find /etc/libibverbs.d -name '*.driver' ! -name "$1.driver" -delete; }

# vm_rxe sets up Software RoCE on eth0.
vm_rxe() {
  vm_only_driver rxe
  modprobe -a rdma_rxe ib_uverbs rdma_ucm || vm_die 'no rdma_rxe'
  rdma link add rxe0 type rxe netdev eth0
}

# vm_siw sets up Software iWARP on eth0; needs scripts/vm --siw.
vm_siw() {
  [[ -n $VM_SIW ]] || vm_die 'this machine was started without --siw'
  # A module that is loaded later is notified of a removal earlier. rdma_cm must be notified before ib_uverbs: rdma_cm
  # tells the programs to end, and ib_uverbs waits for their end.
  modprobe -a ib_core ib_uverbs iw_cm rdma_cm rdma_ucm libcrc32c || vm_die 'no RDMA modules'
  vm_only_driver siw
  insmod "$VM_SIW" && rdma link add siw0 type siw netdev eth0
}

# vm_ext4 FOLDER MEGABYTES [journal] mounts ext4 in a loop file (tmpfs lacks RWF_NOWAIT and stable handles).
vm_ext4() {
  modprobe -a loop ext4
  local image features='-O ^has_journal'
  image=/run/vm/$(tr / _ <<<"$1").img
  truncate -s "${2}M" "$image"
  # Without a journal by default: fsync costs less, and a file server calls it often.
  [[ ${3-} != journal ]] || features=''
  mkfs.ext4 -q -F -b 4096 $features -E lazy_itable_init=1,lazy_journal_init=1 "$image"
  mkdir -p "$1"
  mount -o loop,nobarrier "$image" "$1"
}

# vm_knfsd FOLDER [PORT]: the kernel's server exports FOLDER as its root, on TCP, and on RDMA at PORT.
vm_knfsd() {
  modprobe -a nfsd rpcrdma nfsv3
  mkdir -p /run/rpcbind /var/lib/nfs/{sm,sm.bak,rpc_pipefs,v4recovery} /run/sendsigs.omit.d
  touch /var/lib/nfs/{etab,rmtab,xtab,state}
  mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
  rpcbind -w
  # Uses the groups that the client sends, not those of this machine.
  sed -i '/manage-gids/d' /etc/nfs.conf
  echo "$1 *(rw,no_root_squash,insecure,fsid=0,no_subtree_check)" >/etc/exports
  exportfs -ra && rpc.nfsd 4 && rpc.mountd && echo "rdma ${2:-20049}" >/proc/fs/nfsd/portlist
}

# vm_mount_rdma PORT EXPORT FOLDER [OPTIONS] mounts with the kernel's client, by NFSv3 over RDMA.
vm_mount_rdma() {
  modprobe -a rpcrdma nfsv3
  mkdir -p "$3"
  mount -t nfs -o "vers=3,proto=rdma,port=$1,nolock,mountproto=tcp${4:+,$4}" "$VM_ADDRESS:$2" "$3"
}

# vm_rdma_resources prints the RDMA resources in use, one line for each device. Leaks make the output change.
vm_rdma_resources() { rdma resource show | sed 's/^[0-9]*: //' | sort; }
