// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The Service-ID of a connection request (RFC 4755 section 3.5). Does no I/O; may be used on any thread.
#include <cstdint>
#include <optional>

namespace rpcrdma::ipoib {

/// The first byte of Service-IDs that belong to the IETF.
enum class ServicePrefix : std::uint64_t {
  rfc = 0x0100000000000000,          ///< as RFC 4755 defines it
  linux_ipoib = 0x1000000000000000,  ///< as the ib_ipoib module of Linux uses it
};

/// The Service-ID of the interface whose UD queue pair is `qpn`.
std::uint64_t service_id(std::uint32_t qpn, ServicePrefix prefix = ServicePrefix::rfc) noexcept;

/// The UD queue pair that `id` names; nothing if it is not a Service-ID of IP over InfiniBand with this prefix.
std::optional<std::uint32_t> qpn_of_service_id(std::uint64_t id, ServicePrefix prefix = ServicePrefix::rfc) noexcept;

}  // namespace rpcrdma::ipoib
