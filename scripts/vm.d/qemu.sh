# SPDX-License-Identifier: BSD-3-Clause
# Starts the virtual machine and reports how it ended. Needs image.sh and the options that scripts/vm has parsed.

# vm_boot shell | vm_boot script FILE ARG...
vm_boot() {
  local control status=0 forward
  control=$(mktemp -d)
  trap "rm -rf '$control'" EXIT
  mkdir "$control/out"
  [[ -z $vm_out ]] || { mkdir -p "$vm_out" && vm_out=$(realpath "$vm_out"); }
  vm_write_job "$@" >"$control/job"

  local network="user,id=net0,net=10.0.2.0/24,restrict=on"
  for forward in "${vm_forwards[@]}"; do network+=",hostfwd=tcp:127.0.0.1:${forward%%:*}-10.0.2.15:${forward##*:}"; done
  # erms=off: otherwise the emulated processor copies byte by byte. norandmaps: otherwise QEMU translates a program
  # again for each address at which the kernel loads it. no_timer_check: otherwise the kernel panics at its start if
  # the machine gets no processor for a while, as its timer seems not to work.
  local machine=(qemu-system-x86_64 -accel tcg,thread=multi -cpu max,erms=off -smp "$vm_processors" -m "$vm_memory"
    -display none -no-reboot -nodefaults -serial stdio -serial "file:$control/kernel.log"
    -kernel "$vm_cache"/kernel/boot/vmlinuz-* -initrd "$vm_cache/initrd"
    -append "console=ttyS1 panic=-1 quiet mitigations=off norandmaps no_timer_check vm_guest=$vm_here/guest-main"
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap
    -virtfs local,path="$control",mount_tag=control,security_model=none,multidevs=remap
    -virtfs local,path="${vm_out:-$control/out}",mount_tag=out,security_model=none,multidevs=remap
    -device virtio-net-pci,netdev=net0 -netdev "$network")
  local limit=()
  ((vm_timeout == 0)) || limit=(timeout --foreground "$vm_timeout")
  if [[ $1 == shell ]]; then
    # ^C and similar keys go to the guest; the terminal is restored when the machine has ended.
    local saved
    saved=$(stty -g 2>/dev/null) || saved=''
    stty raw -echo 2>/dev/null || true
    "${machine[@]}" || status=$?
    [[ -z $saved ]] || stty "$saved"
  else
    # TERM, INT and HUP end the machine; vm_finish then ends this script.
    "${limit[@]}" "${machine[@]}" </dev/null &
    local process=$!
    trap 'kill "$process" 2>/dev/null' TERM INT HUP
    wait "$process" || status=$?
    while kill -0 "$process" 2>/dev/null; do wait "$process" || status=$?; done
    trap - TERM INT HUP
  fi
  vm_finish "$control" "$status"
}

# Writes the guest's job in shell syntax.
vm_write_job() {
  local kind=$1 pair
  shift
  local script='' arguments=() folder=$PWD
  if [[ $kind == script ]]; then
    script=$(realpath "$1")
    shift
    arguments=("$@")
  fi
  local siw=''
  ((vm_siw == 0)) || siw=$vm_cache/siw-$(vm_kernel_version).ko
  local modules=$vm_cache/kernel/lib/modules rows columns
  read -r rows columns < <(stty size 2>/dev/null || echo '24 80')
  declare -p kind script arguments folder siw modules rows columns
  for pair in "${vm_environment[@]}"; do
    [[ $pair == *=* ]] || pair=$pair=${!pair-}
    printf 'export %q\n' "$pair"
  done
}

# vm_finish CONTROL QEMU_STATUS exits with the guest's status, with 124 after the time limit, or with 125 if the guest
# left no status.
vm_finish() {
  local control=$1 status=$2 guest=''
  [[ ! -f $control/status ]] || guest=$(<"$control/status")
  # Reports kernel errors even if the job succeeded.
  grep -E 'BUG:|Oops|Call Trace|Kernel panic|blocked for more than' "$control/kernel.log" | head -n 5 >&2 || true
  [[ -z $vm_out ]] || cp "$control/kernel.log" "$vm_out/kernel.log"
  if [[ -z $guest ]]; then tail -n 20 "$control/kernel.log" >&2; fi
  if ((status == 124)); then
    fail "no result within $vm_timeout s"
    exit 124
  fi
  if [[ -z $guest ]]; then
    fail "the virtual machine stopped without a result (qemu: $status)"
    exit 125
  fi
  exit "$guest"
}
