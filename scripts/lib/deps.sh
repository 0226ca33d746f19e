# SPDX-License-Identifier: BSD-3-Clause
# The Debian 12 packages that each task needs, and how they come onto the machine. Needs ui.sh.
build_packages=(g++ cmake ninja-build pkg-config rpcsvc-proto
  libboost1.81-dev libtirpc-dev libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev libisal-dev libssl-dev
  liblmdb-dev)
demo_packages=("${build_packages[@]}" diffutils)
test_packages=("${build_packages[@]}" git libgtest-dev libgmock-dev libbenchmark-dev
  libibverbs-dev librdmacm-dev python3 tshark tcpdump iproute2 procps clang-format libnfs-utils nfs-common rpcbind)
# What the suites in virtual machines run there.
vm_test_packages=(fio)
vm_more_packages=(fio dbench bonnie++ stress-ng postmark fsmark make git dmsetup)
tidy_packages=("${build_packages[@]}" libgtest-dev libgmock-dev libbenchmark-dev libibverbs-dev librdmacm-dev
  python3 clang-tidy)

# missing_packages NAME... prints those that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p') || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# install_packages NAME... installs what is missing, and does nothing at all when nothing is.
install_packages() {
  if ! command -v dpkg-query apt-get >/dev/null; then
    note "not a Debian machine: taking for granted what these packages hold: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then return; fi
  local as_root=()
  if ((EUID != 0)); then
    sudo -n true 2>/dev/null || die "packages are missing and this is not root; run: apt-get install ${missing[*]}"
    as_root=(sudo -n)
  fi
  step "installing ${missing[*]}"
  local log
  log=$(mktemp)
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  # A first update often suffices; a source that fails to update is no harm if the packages are to be had.
  "${apt[@]}" update >"$log" 2>&1 || true
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    die "apt-get could not install: ${missing[*]} (the last lines of its output are above)"
  fi
  rm -f "$log"
}
