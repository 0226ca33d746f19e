# SPDX-License-Identifier: BSD-3-Clause
# The programs of workloads.sh. Each runs in an empty current folder, and writes the results that must be the same on every
# file system, if any, to the file that is its argument. Needs lib.sh.

# Concurrent writers and readers, every byte verified; with the client's cache and without.
run_fio() {
  fio --name=buffered --size=2m --numjobs=4 --rw=randrw --bsrange=512-64k --bs_unaligned=1 --ioengine=psync \
    --fallocate=none --verify=crc32c --verify_backlog=16 --verify_fatal=1 --do_verify=1 --end_fsync=1 &&
    fio --name=direct --size=1m --numjobs=2 --rw=randrw --bsrange=4k-64k --ioengine=libaio --iodepth=4 --direct=1 \
      --fallocate=none --verify=crc32c --verify_backlog=16 --verify_fatal=1 --do_verify=1
}

# The load of office clients on a file server.
run_dbench() { dbench -D . -c /usr/share/dbench/client.txt -t 4 2 >/run/dbench.out && grep Throughput /run/dbench.out; }

# The small files of a mail server; times and rates are left out.
run_postmark() {
  printf '%s\n' "set location $PWD" 'set number 60' 'set transactions 120' 'set size 500 12000' 'set seed 42' \
    'set buffering false' run quit >/run/postmark.conf
  postmark /run/postmark.conf >/run/postmark.out
  sed -n '/^Files:/,$p' /run/postmark.out | sed 's/ (.*//' | grep '[0-9]' >"$1"
  grep -q ' deleted' "$1"
}

# Writes and reads blocks; creates, reads and removes 1,024 files, sequentially and at random.
run_bonnie() { bonnie++ -d . -u root -s 16 -r 8 -n 1:200:0:4 -f -q; }

# Each file is synchronized before it is closed.
run_fs_mark() { fs_mark -d . -s 4096 -n 60 -S 1 -D 4 -N 15 -t 2 -L 1 -k && find . -type f -size 4096c | wc -l >"$1"; }

# Calls of many kinds, several at a time, up to a number of operations or a time limit. Omits --link and --symlink,
# because their rounds of 8,192 names ignore the time limit.
run_stress_ng() {
  local stress='stress-ng --verify --timeout 2 --temp-path .'
  $stress --access 1 --chmod 1 --chown 1 --fstat 1 --access-ops 20 --chmod-ops 100 --chown-ops 100 &&
    $stress --dentry 1 --dentries 64 --dir 1 --dir-dirs 64 --getdent 1 --filename 1 &&
    $stress --rename 1 --touch 1 --mknod 1 --utime 1 --rename-ops 200 --touch-ops 200 &&
    $stress --hdd 1 --hdd-bytes 2m --iomix 1 --iomix-bytes 2m --seek 1 --seek-size 1m --sendfile 1 &&
    $stress --open 1 --open-max 100 --lockf 1 --flock 1 --fcntl 1
}

# A repository of a part of this project; its hashes prove that every byte is right.
run_git() {
  export HOME=/run GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
  export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
  git init -q first && cp -r "$tests"/../transport "$tests"/../xdr "$tests"/../rpc first/ && cd first &&
    git add . && git commit -qm 'all of it' &&
    git mv xdr moved && echo 'a line' >>transport-notes && git add . && git commit -qm 'moved' &&
    git checkout -q -b side HEAD~1 && git rm -q -r transport/wire && git commit -qm 'less' && git checkout -q - &&
    git merge -q -m 'merged' side && git gc -q && git fsck --full --strict && cd .. &&
    git clone -q first second && git -C second fsck --full && git -C second log --format='%H %s' >"$1" &&
    git -C second status --porcelain >>"$1" && git -C second ls-files -s | sha256sum >>"$1"
}

# Files of this project are compiled, two at a time, and linked with a program that uses them.
run_gcc() {
  cp -r "$tests/../transport/wire" "$tests/../transport/base" . && cp -r "$bin/../transport/base/include" base || return
  cat >Makefile <<'END'
CXXFLAGS = -std=c++20 -O0 -Iwire/include -Ibase/include -Iwire/src -DBOOST_ASIO_SEPARATE_COMPILATION \
  -DBOOST_ASIO_NO_DEPRECATED -DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=4
OBJECTS = $(patsubst %.cpp,%.o,$(wildcard wire/src/*.cpp)) base/src/error.o
program: main.o libwire.a
	g++ -o $@ $^
libwire.a: $(OBJECTS)
	ar rcD $@ $^
END
  cat >main.cpp <<'END'
#include "rpcrdma/wire/private_data.hpp"
int main() {
  const rpcrdma::wire::PrivateData data{true, 4096, 8192};
  return rpcrdma::wire::find_private_data(rpcrdma::wire::encode(data)) == data ? 0 : 1;
}
END
  make -s -j2 && ./program && sha256sum -- *.o wire/src/*.o base/src/*.o libwire.a program >"$1"
}
