# SPDX-License-Identifier: BSD-3-Clause
# Development of this project inside a mount, on the kernel's server and on rpcrdma-nfsd: git stores it, CMake and g++ build
# it, and the built programs serve and copy files. Commits, objects and programs are identical on both.
#   scripts/vm run -t 5400 -m 7000 tests/interop/guest/builds.sh BUILD_FOLDER both|ours|knfsd [TARGET]...
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
servers=${2:-both}
shift 2
few='--credits 8' # little data in flight: rxe.sh says why
targets=("$@")
((${#targets[@]})) || targets=(all)
export CCACHE_DISABLE=1

# The same path on both servers, because object files contain the paths of their sources.
work=/run/work

# keep OUT: makes a repository of the whole project, and a clone of it; writes the clone's log, its status and the hash
# of its index to OUT.
keep() {
  export HOME=/run GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
  export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
  git init -q first && cp -r "${project[@]/#/$tests/../}" first/ && git -C first add . && git -C first commit -qm 'all of it' &&
    git clone -q first second && git -C second fsck --full && git -C second log --format='%H %s' >"$1" &&
    git -C second status --porcelain >>"$1" && git -C second ls-files -s | sha256sum >>"$1"
}
# compile: builds the project. Does not optimize, because the machine is emulated; sets -frandom-seed, because symbols may
# contain a random number.
compile() {
  cmake -S second -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG='-O0 -frandom-seed=1' \
    -DRPCRDMA_TESTS=OFF -DRPCRDMA_BENCH=OFF -DRPCRDMA_PRECOMPILE=ON -DCMAKE_UNITY_BUILD=ON >/run/cmake.out &&
    ninja -C build "${targets[@]}" >/run/ninja.out || { tail -n 40 /run/cmake.out /run/ninja.out && false; }
}

# try_out: copies the sources of transport/ to a server and back. A program that was not built here is taken from $bin.
try_out() {
  local server status
  mkdir back
  "$(built rpcrdma-nfsd)" --export memory:/m,no_root_squash --listen iwarp@127.0.0.1:0 --state-dir state >/run/built.out 2>/run/client.err &
  server=$!
  vm_until $patience grep -q ^ready /run/built.out && ask_and_copy "$(sed -n 's/^ready rdma=\([^ ]*\).*/\1/p' /run/built.out)"
  status=$?
  kill -TERM $server && wait $server && return $status
}
built() { if [[ -x build/bin/$1 ]]; then echo "build/bin/$1"; else echo "$bin/$1"; fi; }
ask_and_copy() {
  "$(built rpcrdma-ping)" --count 20 "$1" && "$(built rpcrdma-nfs)" put -r second/transport "nfs://$1/m" &&
    "$(built rpcrdma-nfs)" get -r "nfs://$1/m/transport" back && diff -r second/transport back/transport
}

# sums: prints checksums of the objects, archives and programs. Precompiled headers differ, because they contain
# addresses.
sums() { find build -type f \( -name '*.o' -o -name '*.a' -o -path 'build/bin/*' \) -print0 | sort -z | xargs -0 sha256sum; }

# work_on NAME FOLDER stores, builds and tries out the project in FOLDER; writes hashes to $VM_OUT/NAME.txt.
work_on() {
  mkdir -p $work "$2/work" && mount --bind "$2/work" $work && cd $work || return
  expect "git on $1 keeps all of the project" keep "$VM_OUT/$1.txt"
  expect "the project is built on $1" compile
  expect "the programs built on $1 work" try_out 2>/run/client.err # no terminal, no progress bar
  sums >>"$VM_OUT/$1.txt"
  echo "$(find build -name '*.o' | wc -l) objects, $(du -sm . | cut -f 1) MB"
  cd / && umount $work
  expect "the folder is removed on $1" rm -rf "${2:?}/work"
}

rm -f "$VM_OUT"/*.txt
rxe_with_a_wire || vm_die 'no RoCE devices'
vm_ext4 /srv/ours 2000
vm_ext4 /srv/knfsd 2000
mapfile -t project < <(find "$tests/.." -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -printf '%f\n')
if [[ $servers != knfsd ]]; then
  part 'we serve'
  start_nfsd verbs $right $few
  must 'mount' mount_ours $right
  work_on ours /mnt
  expect 'no bad replies' no_bad_replies
  expect 'no file is left' test -z "$(find /srv/ours -mindepth 1 -not -name lost+found)"
  expect 'umount' umount /mnt
  stop_nfsd
fi
if [[ $servers != ours ]]; then
  part 'the kernel serves'
  vm_knfsd /srv/knfsd 20049 || vm_die 'the kernel does not serve NFS over RDMA'
  must 'mount' mount_knfsd $right /srv/knfsd
  work_on knfsd /run/knfsd
  expect 'umount' umount /run/knfsd
  rpc.nfsd 0
fi
wc -l "$VM_OUT"/*.txt
[[ $servers != both ]] || expect 'the results are the same' diff -U 0 "$VM_OUT/knfsd.txt" "$VM_OUT/ours.txt"
part end
finish
