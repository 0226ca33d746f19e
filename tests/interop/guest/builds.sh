# SPDX-License-Identifier: BSD-3-Clause
# A day's work on this project inside a mount, on the kernel's server and on ours: git keeps all of it, CMake and g++
# build it, and what was built serves and copies. Every commit, object and program comes out the same.
#   scripts/vm run -t 5400 -m 6144 tests/interop/guest/builds.sh BUILD_FOLDER [TARGET]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$tests/interop/guest/programs.sh"
shift
few='--credits 8' # as in rxe.sh
targets=("$@")
((${#targets[@]})) || targets=(all)
export CCACHE_DISABLE=1

# The same path on both servers, as objects hold those of their sources.
work=/run/work

# check_out: the first commit; the last one lacks what was removed and moved.
check_out() { git -C second checkout -q "$(git -C second rev-list --max-parents=0 HEAD)"; }
# compile: without optimization, as the machine is emulated; -frandom-seed as symbols may hold a random number.
compile() {
  cmake -S second -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O0 -frandom-seed=1' \
    -DRPCRDMA_TESTS=OFF -DRPCRDMA_BENCH=OFF -DRPCRDMA_PRECOMPILE=ON -DCMAKE_UNITY_BUILD=ON >/run/cmake.out &&
    ninja -C build "${targets[@]}" >/run/ninja.out || { tail -n 40 /run/cmake.out /run/ninja.out && false; }
}

# try_out: what was built here serves and copies what it was built from.
try_out() {
  local server status
  mkdir back
  build/bin/rpcrdma-nfsd --export memory:/m --listen iwarp@127.0.0.1:0 --state-dir state >/run/built.out 2>/run/client.err &
  server=$!
  vm_until 60 grep -q ^ready /run/built.out && copy_and_compare "$(sed -n 's/^ready rdma=\([^ ]*\).*/\1/p' /run/built.out)"
  status=$?
  kill -TERM $server && wait $server && return $status
}
copy_and_compare() {
  build/bin/rpcrdma-nfs put -r second/transport "nfs://$1/m" && build/bin/rpcrdma-nfs get -r "nfs://$1/m/transport" back &&
    diff -r second/transport back/transport
}

# sums: of all that was built; precompiled headers hold addresses.
sums() { find build -type f \( -name '*.o' -o -name '*.a' -o -path 'build/bin/*' \) -print0 | sort -z | xargs -0 sha256sum; }

# work_on NAME FOLDER: $VM_OUT/NAME.txt is what came out.
work_on() {
  mkdir -p $work "$2/work" && mount --bind "$2/work" $work && cd $work || return
  expect "git on $1 keeps all of the project" run_git "$VM_OUT/$1.txt" "${project[@]}"
  expect "all of it is checked out on $1" check_out
  expect "it is built on $1" compile
  expect "what was built on $1 works" try_out
  sums >>"$VM_OUT/$1.txt"
  echo "$(find build -name '*.o' | wc -l) objects, $(du -sm . | cut -f 1) MB"
  cd / && umount $work
  expect "all of it is removed on $1" rm -rf "${2:?}/work"
}

rm -f "$VM_OUT"/*.txt
rxe_with_a_wire || vm_die 'no RoCE devices'
vm_ext4 /srv/ours 2000
vm_ext4 /srv/knfsd 2000
project=(CMakeLists.txt CMakePresets.json README.md cmake transport xdr rpc demo-server demo-client bench tests docs scripts)
part 'we serve'
start_nfsd verbs $right $few
must 'mount' mount_ours $right
work_on ours /mnt
expect 'no bad replies' no_bad_replies
expect 'nothing is left' test -z "$(find /srv/ours -mindepth 1 -not -name lost+found)"
expect 'umount' umount /mnt
stop_nfsd
part 'the kernel serves'
vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
must 'mount' mount_knfsd $right /srv/knfsd
work_on knfsd /run/knfsd
expect 'umount' umount /run/knfsd
rpc.nfsd 0
part compared
wc -l "$VM_OUT"/*.txt
expect 'what came out is the same' diff -U 0 "$VM_OUT/knfsd.txt" "$VM_OUT/ours.txt"
part end
finish
