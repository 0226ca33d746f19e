// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The provider on rdma-core: RDMA adapters and the kernel's soft devices (rxe, siw), by libibverbs and librdmacm.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <memory>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// What is asked of a device; what it grants is in the fabric's Capabilities.
struct VerbsOptions {
  /// The address is a peer's, and the device wanted the one that the way there begins at: even if the peer is this host
  /// itself, at another device.
  bool towards = false;
  std::uint32_t max_gather = 16;       ///< buffers in one send or write; the device may allow fewer
  std::uint32_t max_inline = 256;      ///< octets copied into the work request instead of fetched by the device
  std::uint32_t signal_interval = 16;  ///< at most so many sends in a row without a completion of their own
  /// How long open_verbs() may block to find the device that leads to an address.
  std::chrono::milliseconds resolve_timeout{2000};
  /// Silence of a peer after which it is sent an RDMA Write of nothing, which the device repeats for 8 s until it is
  /// acknowledged; if it never is, the connection ends with ETIMEDOUT. Less than a second counts as one; the silence is
  /// measured in quarters of it. On iWARP the device has TCP do that, as patient as it is.
  std::chrono::seconds keepalive{60};
};

/// Whether binding `address` yields an RDMA device. False for wildcard and loopback addresses.
bool verbs_device_at(const boost::asio::ip::address& address) noexcept;

/// Opens the device at `address`, or the one that leads to it if it is a peer's; blocks for a moment, so at
/// start-up only. FabricError::no_device if there is none, no_rdma if there cannot be any, device_closed or no_driver
/// if the one there is cannot be used, no_libibverbs or no_librdmacm if a library of rdma-core, which the first call
/// loads, is not there; their messages say what is missing.
///
/// Thread: the fabric belongs to `context` and its one thread; requests of one fabric's listener may be
/// accepted by another fabric on the same device. `context` outlives the fabric.
///
/// librdmacm opens a device once for the whole process. Its stream of asynchronous events (ibv_get_async_event) is
/// ours: a program with verbs of its own on the same device may have queue pairs and completion queues, which are left
/// alone, but does not read that stream; what it says of them is dropped.
///
/// Handlers that wait on the device hold work on `context` only while there is a listener or a queue pair, and for up
/// to ten seconds after listen() or make_connector() has failed with FabricError::device_lost: the device is let go of,
/// which its removal waits for, when the kernel says so. A thread that posts work must not change its credentials
/// (setfsuid, capset) after this call: uverbs compares them and refuses every post thereafter.
Result<std::unique_ptr<Fabric>> open_verbs(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                           VerbsOptions options, Log log);

}  // namespace rpcrdma::fabric
