# SPDX-License-Identifier: BSD-3-Clause
# The verbs fabric against the kernel's NFS server, on rxe. In the virtual machine:
#   scripts/vm run tests/interop/guest/knfsd.sh BUILD_FOLDER
program=$1/bin/interop_knfsd
shift
vm_rxe
vm_ext4 /srv/knfsd 256
seq 1 20000 >/srv/knfsd/numbers
vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
export RPCRDMA_TEST_VERBS_ADDRESS=$VM_ADDRESS RPCRDMA_TEST_PORT=20049 RPCRDMA_TEST_EXPORT=/srv/knfsd
"$program" --gtest_brief=1 --gtest_color=no "$@"
