# SPDX-License-Identifier: BSD-3-Clause
# The commands of rpcrdma-nfs, on a server whose files are also visible locally. Needs lib.sh.

# small_tree FOLDER: makes FOLDER, with files, a link and nested directories.
small_tree() {
  mkdir -p "$1/deep/er"
  head -c 5000001 /dev/urandom >"$1/big"
  local i
  for i in {1..30}; do head -c $((i * 777)) "$1/big" >"$1/deep/er/file$i"; done
  ln -s ../big "$1/deep/link"
  : >"$1/empty"
}

# drive_client FABRIC URL FOLDER [CLIENT_OPTION...]: checks the client's commands. The server exports FOLDER as URL; /run/tree
# is the input.
drive_client() {
  local url=$2 folder=$3
  client="timeout $patience $bin/rpcrdma-nfs --fabric $1 ${*:4}" # shows no progress, as stderr is no terminal
  quiet() { $client "$@" 2>>/run/client.err; }
  printed() { same_output "quiet $*" <(cat); }
  expect 'ping' eval "quiet ping $url | grep -q answers"
  expect 'put -r' quiet put -r /run/tree "$url/tree"
  expect 'the copy on the server is identical' diff -r --no-dereference /run/tree "$folder/tree"
  expect 'get -r' quiet get -r "$url/tree" /run/back
  expect 'the copy from the server is identical' diff -r --no-dereference /run/tree /run/back
  expect 'cat' same_output "quiet cat $url/tree/big" /run/tree/big
  expect 'ls' same_output "quiet ls $url/tree/deep/er" <(ls /run/tree/deep/er | LC_ALL=C sort)
  expect 'ls -l' eval "quiet ls -l $url/tree | grep -q '5000001 .* big$'"
  expect 'stat' eval "quiet stat $url/tree/big | grep -q 5000001"
  expect 'df' eval "quiet df $url | grep -q '[0-9]'"
  expect 'readlink' printed readlink "$url/tree/deep/link" <<<../big
  drive_changes "$url/tree" "$folder/tree"
  drive_long_messages "$url/tree" "$folder/tree"
  expect 'rm -r' quiet rm -r "$url/tree"
  expect 'no file is left' eval "[[ ! -e $folder/tree ]]"
  rm -rf /run/back
}

# drive_changes URL FOLDER: checks the commands that change names and attributes. The server exports FOLDER as URL.
drive_changes() {
  expect 'mkdir' quiet mkdir "$1/new"
  expect 'mkdir -p' quiet mkdir -p "$1/new/a/b"
  expect 'both exist' test -d "$2/new/a/b"
  expect 'put' quiet put /run/tree/deep/er/file9 "$1/new/file"
  expect 'get' quiet get "$1/new/file" /run/file
  expect 'put and get are identical' cmp /run/file /run/tree/deep/er/file9
  expect 'mv' quiet mv "$1/new/file" "$1/new/a/moved"
  expect 'ln' quiet ln "$1/new/a/moved" "$1/new/hard"
  expect 'the names are one file' test "$2/new/a/moved" -ef "$2/new/hard"
  expect 'ln -s' quiet ln -s moved "$1/new/a/soft"
  expect 'the symbolic link leads to the file' test "$2/new/a/soft" -ef "$2/new/hard"
  expect 'chmod' quiet chmod 640 "$1/new/hard"
  expect 'truncate' quiet truncate 1000 "$1/new/hard"
  expect 'mode and size' same_output "stat -c '%a %s' $2/new/hard" - <<<'640 1000'
  expect 'rm' quiet rm "$1/new/hard"
  expect 'it is removed' eval "[[ ! -e $2/new/hard ]]"
}

long_target=$(printf '%04d/' {1..800})
# large_directory FOLDER COUNT: makes FOLDER, with COUNT empty files.
large_directory() {
  mkdir "$1"
  (cd "$1" && seq -f 'an entry with a name of some length %g' "$2" | xargs -d '\n' touch)
}

# drive_long_messages URL FOLDER: lists a directory, which takes replies of many KiB, and makes a call that does not fit
# inline.
drive_long_messages() {
  large_directory "$2/many" 600
  expect 'a large directory' same_output "quiet ls $1/many" <(ls "$2/many" | LC_ALL=C sort)
  local target=$long_target
  expect 'a symbolic link of 4,000 bytes' quiet ln -s "$target" "$1/long"
  expect 'the server has its target' same_output "readlink $2/long" - <<<"$target"
  expect 'readlink prints its target' printed readlink "$1/long" <<<"$target"
}

# client_tests FILTER: runs tests of the client on the kernel's server, in one process. They use /srv/knfsd/numbers.
client_tests() {
  RPCRDMA_TEST_VERBS_ADDRESS=$address RPCRDMA_TEST_PORT=20049 RPCRDMA_TEST_EXPORT=/srv/knfsd \
    "$bin/interop_knfsd" --gtest_brief=1 --gtest_color=no --gtest_filter="$1"
}

# client_for_the_capture FABRIC URL FOLDER FILE [CLIENT_OPTION...]: makes the transfers that a capture must show: bulk data
# in both directions, a long reply, a long call. Leaves no files.
client_for_the_capture() {
  local url=$2 folder=$3 file=$4
  client="timeout $patience $bin/rpcrdma-nfs --fabric $1 ${*:5}" # shows no progress, as stderr is no terminal
  quiet() { $client ${captures:+--capture "$captures/$1.pcapng"} "$@" 2>>/run/client.err; }
  large_directory "$folder/large" 100
  expect 'put, for the capture' quiet put "$file" "$url/captured"
  expect 'get, for the capture' quiet get "$url/captured" /run/captured
  expect 'ls -l, for the capture' eval "[[ \$(quiet ls -l $url/large | wc -l) == 100 ]]"
  expect 'ln -s, for the capture' quiet ln -s "$long_target" "$url/long"
  expect 'readlink, for the capture' eval "[[ \$(quiet readlink $url/long) == '$long_target' ]]"
  expect 'put and get are identical' cmp "$file" /run/captured
  expect 'the link is intact' test "$(readlink "$folder/long")" = "$long_target"
  rm -r "$folder/large" "$folder/captured" "$folder/long" /run/captured
}
