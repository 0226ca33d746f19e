# SPDX-License-Identifier: BSD-3-Clause
# Kernel, modules and initial file system of the virtual machine, in a cache folder. Needs ui.sh.
vm_cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/librpcrdma-vm
PATH=$PATH:/usr/sbin:/sbin # depmod, modprobe
vm_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The modules for the host's files and for the network; other modules are loaded from the host's files.
vm_boot_modules=(virtio_pci 9pnet_virtio 9p overlay virtio_net)

vm_kernel_version() { ls "$vm_cache/kernel/lib/modules"; }

# vm_download PACKAGE... fetches Debian packages, as files, into the current folder.
vm_download() {
  if ! apt-get download -qq "$@" >/dev/null 2>download.log && ! { vm_apt_update && apt-get download -qq "$@" >/dev/null 2>download.log; }; then
    tail -n 3 download.log >&2
    die "could not download $*; the virtual machine needs a network the first time (if the archive no longer has this version, remove $vm_cache)"
  fi
}
vm_apt_update() { ((EUID != 0)) || apt-get -qq -o DPkg::Lock::Timeout=300 update >/dev/null 2>&1; }

# The kernel package that linux-image-amd64 depends on.
vm_newest_kernel() { LC_ALL=C apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image-[0-9]/{print $2; exit}'; }

vm_fetch_kernel() {
  local package
  package=$(vm_newest_kernel)
  [[ -n $package ]] || { vm_apt_update && package=$(vm_newest_kernel); }
  [[ -n $package ]] || die 'apt knows no package linux-image-amd64: the virtual machine boots that kernel (Debian 12, amd64)'
  step "fetching $package for the virtual machine"
  local work=$vm_cache/work.kernel
  mkdir "$work"
  (cd "$work" && vm_download "$package" && dpkg -x "$package"_*.deb unpacked && depmod -b unpacked "$(ls unpacked/lib/modules)")
  rm -rf "$vm_cache/kernel"
  mv "$work/unpacked" "$vm_cache/kernel"
  rm -rf "$work"
}

vm_make_initrd() {
  local root version module
  root=$vm_cache/work.initrd
  version=$(vm_kernel_version)
  mkdir -p "$root"/{bin,dev,proc,sys,modules}
  cp "$(command -v busybox)" "$root/bin/busybox"
  install -m 755 "$vm_here/init" "$root/init"
  for module in "${vm_boot_modules[@]}"; do
    modprobe -d "$vm_cache/kernel" -S "$version" --show-depends "$module" | awk '/^insmod/{print $2}'
  done | awk '!seen[$0]++' | while read -r module; do
    cp "$module" "$root/modules/"
    echo "/modules/${module##*/}"
  done >"$root/modules/order"
  (cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$vm_cache/initrd.new"
  mv "$vm_cache/initrd.new" "$vm_cache/initrd"
  rm -rf "$root"
}

# vm_prepare COMMAND... runs each COMMAND, under a lock, as test programs may start machines in parallel. An incomplete
# preparation is removed when it fails, or when the next one starts.
vm_prepare() {
  mkdir -p "$vm_cache" 2>/dev/null && : 2>/dev/null >>"$vm_cache/lock" ||
    die "cannot write to $vm_cache: if it belongs to another user, remove it, or set XDG_CACHE_HOME"
  exec 9>>"$vm_cache/lock"
  flock 9
  trap vm_tidy EXIT
  vm_tidy
  local each
  for each in "$@"; do "$each"; done
  vm_tidy
  trap - EXIT
  exec 9>&-
}

# Removes incomplete preparations. If root works in another user's home (sudo can keep HOME), that user becomes the
# owner of the cache.
vm_tidy() {
  local owner
  rm -rf "$vm_cache"/work.*
  owner=$(stat -c %u:%g "${XDG_CACHE_HOME:-${HOME:-/root}}")
  if ((EUID == 0)) && [[ $owner != 0:0 ]]; then
    chown -h --from=0:0 "$owner" "${vm_cache%/*}"
    chown -hR --from=0:0 "$owner" "$vm_cache"
  fi
}

vm_prepare_image() {
  [[ -d $vm_cache/kernel/boot ]] || vm_fetch_kernel
  if [[ ! -f $vm_cache/initrd || $vm_here/init -nt $vm_cache/initrd || $vm_cache/kernel -nt $vm_cache/initrd ]]; then
    vm_make_initrd
  fi
}
