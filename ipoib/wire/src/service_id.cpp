// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/ipoib/wire/service_id.hpp"

#include "rpcrdma/ipoib/wire/link_address.hpp"

namespace rpcrdma::ipoib {

// [4755-3.5-a] the type and the reserved bits are zero
std::uint64_t service_id(std::uint32_t qpn, ServicePrefix prefix) noexcept {
  return static_cast<std::uint64_t>(prefix) | (qpn & kMaxQpn);
}

std::optional<std::uint32_t> qpn_of_service_id(std::uint64_t id, ServicePrefix prefix) noexcept {
  const auto qpn = static_cast<std::uint32_t>(id & kMaxQpn);
  if (id != service_id(qpn, prefix)) return std::nullopt;
  return qpn;
}

}  // namespace rpcrdma::ipoib
