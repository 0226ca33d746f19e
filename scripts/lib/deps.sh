# SPDX-License-Identifier: BSD-3-Clause
# The Debian 12 packages that each task needs, and how to install them. Needs ui.sh. Most tasks configure the whole tree,
# tests included, so build_packages has everything that CMake needs. Without one of configure_packages, CMake leaves out a
# test.
build_packages=(g++ cmake ninja-build pkg-config rpcsvc-proto python3
  libboost1.81-dev libtirpc-dev libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev libisal-dev libssl-dev
  liblmdb-dev libseccomp-dev prometheus-cpp-dev systemtap-sdt-dev libibverbs-dev librdmacm-dev libgtest-dev libgmock-dev)
configure_packages=(abigail-tools doxygen graphviz)
demo_packages=("${build_packages[@]}" diffutils)
bench_packages=("${build_packages[@]}" git iperf3 nftables socat iproute2)
bench_peers=(nfs-ganesha nfs-ganesha-vfs libnfs-dev)  # peers of rpcrdma-bench, used if they are installed
# The sanitizers of Clang compile twice as fast as those of GCC; llvm-symbolizer names the functions in their reports.
sanitizer_packages=(clang libclang-rt-14-dev llvm lld)
test_packages=("${build_packages[@]}" "${configure_packages[@]}" "${sanitizer_packages[@]}" git make tshark tcpdump
  iproute2 procps clang-format libnfs-utils nfs-common rpcbind mandoc man-db zsh iperf3 nftables iputils-ping systemd
  strace tmux chromium prometheus)
# What makes and starts the virtual machines, and compiles siw for them.
vm_packages=(qemu-system-x86 cpio busybox-static kmod iproute2 rdma-core ibverbs-providers ibverbs-utils
  rdmacm-utils nfs-common nfs-kernel-server rpcbind e2fsprogs tcpdump)
vm_siw_packages=(make gcc-12 xz-utils libelf1)
# Programs that the suites run in the virtual machines.
vm_test_packages=(fio)
vm_bench_packages=(fio perftest)
vm_more_packages=(fio dbench bonnie++ stress-ng postmark fsmark make git dmsetup bpftrace binutils)
package_packages=("${build_packages[@]}" git build-essential debhelper dpkg-dev lintian mmdebstrap)
fuzz_packages=("${build_packages[@]}" "${sanitizer_packages[@]}")
tidy_packages=("${build_packages[@]}" git clang-tidy)

# missing_packages NAME... prints the packages that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p') || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# install_stopped SERVICE NAME... installs the packages, of which one has the same name as the service. Does not let the
# service start: the scripts run the program themselves.
install_stopped() {
  local service=$1 as_root=() masked=no status=0
  shift
  if ((EUID != 0)); then as_root=(sudo -n); fi
  if [[ -d /run/systemd/system && -n $(missing_packages "$service") ]]; then
    if "${as_root[@]}" systemctl -q mask --runtime "$service.service" 2>/dev/null; then masked=yes; fi
  fi
  (install_packages "$@") || status=$?
  if [[ $masked == yes ]]; then
    "${as_root[@]}" systemctl -q unmask --runtime "$service.service" || true
    "${as_root[@]}" systemctl -q disable "$service.service" 2>/dev/null || true
  fi
  return "$status"
}

# install_bench_packages installs the packages that scripts/bench needs and, if possible, the peers.
install_bench_packages() {
  install_packages "${bench_packages[@]}"
  install_stopped nfs-ganesha "${bench_peers[@]}" || note "measuring without the peers that cannot be installed"
}

# install_test_packages installs the packages that scripts/test needs.
install_test_packages() { install_stopped prometheus "${test_packages[@]}"; }

# install_packages NAME... installs the packages that are missing, if any.
install_packages() {
  if ! command -v dpkg-query apt-get >/dev/null; then
    note "not a Debian machine: assuming that the contents of these packages are installed: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then return; fi
  local as_root=()
  if ((EUID != 0)); then
    sudo -n true 2>/dev/null || die "packages are missing; run as root: apt-get install ${missing[*]}"
    as_root=(sudo -n)
  fi
  step "installing ${missing[*]}"
  local log
  log=$(mktemp)
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  # An update may fail for one source while the packages are available from another: only the installation counts.
  "${apt[@]}" update >"$log" 2>&1 || true
  if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    die "apt-get failed to install: ${missing[*]} (the last lines of its output are above)"
  fi
  rm -f "$log"
}
