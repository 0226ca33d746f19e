// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The one place that knows which providers exist.
#include <chrono>
#include <memory>
#include <string_view>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

enum class Provider { automatic, verbs, iwarp };

/// "auto", "verbs" or "iwarp"; anything else gives false.
bool parse_provider(std::string_view text, Provider& provider) noexcept;

enum class CrcPolicy { automatic, on, off };  ///< automatic: off when both addresses are loopback, else on

struct OpenOptions {
  Provider provider = Provider::automatic;
  CrcPolicy crc = CrcPolicy::automatic;  ///< iwarp only
  bool towards = false;                  ///< the address is a server's, to connect to; else an own one, to listen at
  /// Idle time after which a peer is probed, at least a second. A peer that does not answer is given up after the
  /// same time again, but not before the retries have ended (iwarp: 6 s; verbs: 9 s).
  std::chrono::seconds keepalive{60};
};

/// Opens a provider on `context` that can reach or listen at `address`. Automatic takes verbs only if
/// binding the address yields a device; wildcard and loopback addresses take iwarp. FabricError::no_device,
/// no_rdma, device_closed, no_driver, no_libibverbs, no_librdmacm or not_built when the provider asked for is not to be
/// had.
Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                     const OpenOptions& options, Log log);

}  // namespace rpcrdma::fabric
