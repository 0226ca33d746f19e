// SPDX-License-Identifier: BSD-3-Clause
#include "device/limits.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

// The vendor (IEEE OUI) of adapters that enforce the exact range of a window. No capability bit reports this property.
constexpr std::uint32_t kMellanox = 0x02c9;
// The vendor ID of siw, Linux's software iWARP.
constexpr std::uint32_t kSiw = 0x626d74;

constexpr std::uint32_t kMaxMessage = std::uint32_t{1} << 30;

std::uint32_t positive(int value, std::uint32_t most) {
  return std::min(static_cast<std::uint32_t>(std::max(value, 0)), most);
}

// A device that announces windows may still fail to allocate one.
bool windows_work(ibv_pd* domain, unsigned capabilities) {
  constexpr unsigned kNeeded = IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  if ((capabilities & kNeeded) != kNeeded) return false;
  return MemoryWindowHandle(ibv_alloc_mw(domain, IBV_MW_TYPE_2)) != nullptr;
}

}  // namespace

bool may_lock_memory() noexcept {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  return (sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

VerbsOptions within_bounds(VerbsOptions options) noexcept {
  options.keepalive = std::max(options.keepalive, std::chrono::seconds(1));
  return options;
}

Result<DeviceLimits> query_limits(ibv_pd* domain, std::uint8_t port, const VerbsOptions& options) {
  ibv_device_attr device{};
  if (const int error = ibv_query_device(domain->context, &device); error != 0) return system_error(error);
  ibv_port_attr port_attributes{};
  if (ibv_query_port(domain->context, port, &port_attributes) != 0) port_attributes.max_msg_sz = kMaxMessage;

  DeviceLimits limits;
  limits.max_gather = std::max(1u, positive(device.max_sge, options.max_gather));
  limits.max_message = std::min(port_attributes.max_msg_sz, kMaxMessage);
  limits.max_inbound_reads = positive(device.max_qp_rd_atom, RDMA_MAX_RESP_RES);
  limits.max_outbound_reads = positive(device.max_qp_init_rd_atom, RDMA_MAX_INIT_DEPTH);
  limits.max_work = positive(device.max_qp_wr, 1u << 20);
  limits.iwarp = domain->context->device->transport_type == IBV_TRANSPORT_IWARP;
  limits.windows = windows_work(domain, device.device_cap_flags);
  // Without memory windows, each exposure is a registration of its own, which covers exactly the exposed range. Of the
  // devices with windows, only those of Mellanox are relied on to enforce the bounds of a window.
  limits.exact_window_bounds = !limits.windows || device.vendor_id == kMellanox;
  limits.send_with_invalidate = (device.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
  limits.swapped_read_depths = device.vendor_id == kSiw;
  limits.remote_writable_sinks = limits.iwarp && device.vendor_id != kSiw;
  limits.overtakes_reads = device.vendor_id == kSiw;
  limits.limit_binds_always = device.vendor_id == kSiw;
  return limits;
}

}  // namespace rpcrdma::fabric::verbs
