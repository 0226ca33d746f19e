// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The one place that knows which providers exist.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"
#include "rpcrdma/fabric/tap.hpp"

namespace rpcrdma::fabric {

/// A choice of provider.
enum class Provider { automatic, verbs, iwarp };

/// The names of providers, for options: "auto", "verbs", "iwarp".
RPCRDMA_EXPORT std::vector<std::string> provider_names();
/// Parses one of these names; false for anything else.
RPCRDMA_EXPORT bool parse_provider(std::string_view text, Provider& provider) noexcept;

/// Whether iwarp adds a CRC32C to each frame.
enum class CrcPolicy { automatic, on, off };  ///< automatic: off when both addresses are loopback, else on

/// Which provider to open, and for what.
struct OpenOptions {
  Provider provider = Provider::automatic;  ///< automatic, or the provider to use
  CrcPolicy crc = CrcPolicy::automatic;     ///< iwarp only
  bool towards = false;                     ///< true: a server's address, to connect to; false: a local address
  bool from_there = false;                  ///< iwarp, with a local address: connect to servers from this address
  /// Idle time after which a peer is probed, at least a second. A peer that does not answer is given up after the
  /// same time again, but not before the retries have ended (iwarp: 6 s; verbs: 9 s).
  std::chrono::seconds keepalive{60};
  std::shared_ptr<Tap> tap{};  ///< wraps the opened fabric, such as capture::Capture; null: none
};

/// Opens a provider on `context` that can reach or listen at `address`. Provider::automatic chooses verbs only if
/// binding the address yields a device, and iwarp for wildcard and loopback addresses. The verbs provider is a plug-in,
/// librpcrdma-verbs.so, which the first call that looks for a device loads. It is searched for in the folder that the
/// environment variable RPCRDMA_PLUGIN_DIR names; without the variable, in ../lib/rpcrdma relative to the program's
/// folder, in rpcrdma beside librpcrdma.so, and where it was installed. A program that contains the library exports its
/// symbols (--export-dynamic, which the CMake targets and pkg-config set).
///
/// When the provider asked for is not available: FabricError::no_plugin, plugin_mismatch, no_libibverbs, no_librdmacm,
/// no_rdma, no_device, device_closed or no_driver.
RPCRDMA_EXPORT Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context,
                                                    const boost::asio::ip::address& address, const OpenOptions& options,
                                                    Log log);

/// Raises this process's limit of locked memory (RLIMIT_MEMLOCK), against which the kernel counts registered memory: to
/// no limit where the process may do that, else to the hard limit. A program calls it before it opens a verbs fabric.
RPCRDMA_EXPORT void raise_locked_memory_limit() noexcept;

}  // namespace rpcrdma::fabric
