// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Opens a provider by name or by address. The rest of the library uses the opened provider only as a Fabric.
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
/// Parses a name of provider_names(); false for anything else.
RPCRDMA_EXPORT bool parse_provider(std::string_view text, Provider& provider) noexcept;

/// Whether iwarp adds a CRC32C to each frame.
enum class CrcPolicy { automatic, on, off };  ///< automatic: off when both addresses are loopback, else on

/// The provider to open, and its options.
struct OpenOptions {
  Provider provider = Provider::automatic;  ///< automatic, or the provider to use
  CrcPolicy crc = CrcPolicy::automatic;     ///< iwarp only
  bool towards = false;  ///< true: the address is a server's, to connect to; false: it is a local address
  /// iwarp only: uses the address that is passed to open() as the source address of connections to servers. The address
  /// must be a local one (`towards` is false). No effect if the address is a wildcard.
  bool from_there = false;
  /// The idle time after which the provider probes the peer, at least one second. If the peer does not answer within a
  /// time limit, the connection ends. With iwarp, the limit is about as long as the idle time, but at least 6 s. For
  /// verbs, VerbsOptions::keepalive describes the limit.
  std::chrono::seconds keepalive{60};
  std::shared_ptr<Tap> tap{};  ///< wraps the opened fabric, such as capture::Capture; null: none
};

/// Opens a provider on `context` that can reach `address` or listen at it. Provider::automatic chooses verbs if an RDMA
/// device has the address, else iwarp. For a wildcard or loopback address it always chooses iwarp.
///
/// The verbs provider is in a plug-in, librpcrdma-verbs.so. The first call that looks for an RDMA device loads it. If
/// the environment variable RPCRDMA_PLUGIN_DIR is an absolute path, the call searches only that folder for the plug-in.
/// Otherwise it searches three folders that are named rpcrdma: in the library folder relative to the program (usually
/// ../lib), beside librpcrdma.so, and where `cmake --install` puts the plug-in. A program that contains the library
/// must export its symbols to the plug-in by the linker option --export-dynamic, which the CMake targets and pkg-config
/// set.
///
/// If the requested or chosen provider is not available, fails with FabricError::no_plugin, plugin_mismatch,
/// no_libibverbs, no_librdmacm, no_rdma, no_device, device_closed or no_driver.
RPCRDMA_EXPORT Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context,
                                                    const boost::asio::ip::address& address, const OpenOptions& options,
                                                    Log log);

/// Raises this process's limit of locked memory (RLIMIT_MEMLOCK): to no limit if the process may do that, else to the
/// hard limit. The kernel counts registered memory against this limit. A program calls it before it opens a verbs
/// fabric.
RPCRDMA_EXPORT void raise_locked_memory_limit() noexcept;

}  // namespace rpcrdma::fabric
