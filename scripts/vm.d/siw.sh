# SPDX-License-Identifier: BSD-3-Clause
# Debian's kernel comes without siw; this compiles the module from Debian's own source package. Needs image.sh.
vm_prepare_siw() {
  local version base
  version=$(vm_kernel_version)
  [[ -f $vm_cache/siw-$version.ko ]] && return
  install_packages "${vm_siw_packages[@]}"
  step "compiling siw for $version"
  base=$(sed -E 's/^([0-9]+\.[0-9]+).*/\1/' <<<"$version")
  local headers=(linux-headers-"$version" linux-headers-"${version%-amd64}"-common "linux-kbuild-$base" linux-compiler-gcc-12-x86)
  local work=$vm_cache/work.siw package
  mkdir "$work"
  (
    cd "$work"
    vm_download "${headers[@]}" "linux-source-$base"
    for package in "${headers[@]}"; do dpkg -x "$package"_*.deb tree; done
    mkdir source
    dpkg --fsys-tarfile "linux-source-$base"_*.deb | tar xO "./usr/src/linux-source-$base.tar.xz" | xz -dc |
      tar x -C source --strip-components=4 "linux-source-$base/drivers/infiniband/sw/siw"
    # The headers refer to linux-headers-common by its installed path.
    sed -i "s#^include /usr/src#include $work/tree/usr/src#" "tree/usr/src/linux-headers-$version/Makefile"
    make -s -C "tree/usr/src/linux-headers-$version" M="$work/source/siw" CONFIG_RDMA_SIW=m modules >build.log 2>&1 || {
      tail -n 20 build.log >&2
      die 'siw does not compile'
    }
  )
  mv "$work/source/siw/siw.ko" "$vm_cache/siw-$version.ko"
  rm -rf "$work"
}
