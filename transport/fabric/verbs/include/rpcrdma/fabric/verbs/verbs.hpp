// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The provider on rdma-core (libibverbs and librdmacm), for RDMA adapters and the kernel's software devices (rxe, siw).
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <memory>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

namespace verbs {
class OpenDevices;
}

/// Options of a fabric. The device may allow less than `max_gather` and `max_inline`.
struct VerbsOptions {
  /// True if the address is a peer's: then open() chooses the device that leads to the peer, even if the peer is
  /// another device of this host.
  bool towards = false;
  std::uint32_t max_gather = 16;  ///< the most buffers in one Send or Write
  std::uint32_t max_inline =
      256;  ///< the most bytes that are copied into the work request, so that the device does not fetch them
  std::uint32_t signal_interval = 16;  ///< at least one of this many consecutive work requests is signalled
  /// How long Verbs::open() may block to find the device that leads to an address.
  std::chrono::milliseconds resolve_timeout{2000};
  /// Idle time after which the peer is probed with an empty RDMA Write, at least a second. The device repeats the Write
  /// for 8 s; without an acknowledgement the connection then ends with ETIMEDOUT. On iWARP, TCP retransmits, with its
  /// own time limit. The idle time is measured in steps of a quarter of this time.
  std::chrono::seconds keepalive{60};
  /// The function that numbers connections. The program passes its own function, because a plug-in may contain a copy
  /// with a counter of its own.
  std::uint64_t (*next_number)() noexcept = &next_connection_number;
};

/// Whether binding `address` yields an RDMA device. False for wildcard and loopback addresses.
bool verbs_device_at(const boost::asio::ip::address& address) noexcept;

/// The provider. Make only one in a process, as librdmacm opens a device once per process. A device that was removed is
/// closed when the last fabric on it is destroyed. May be used on any thread. The fabrics may outlive this object.
class Verbs {
 public:
  Verbs();

  /// Opens the device at `address` or, if there is none, the device that leads to `address`; with
  /// VerbsOptions::towards, in the reverse order. Blocks briefly: call it at start-up only. The fabric survives the
  /// loss of its device (lasting.hpp).
  ///
  /// Fails with FabricError::no_device if there is neither device, no_rdma if the kernel offers no RDMA, device_closed
  /// or no_driver if the device cannot be used; the messages of these errors state what is missing.
  ///
  /// Thread: the fabric belongs to `context` and its one thread. Another fabric on the same device may accept the
  /// requests of this fabric's listener. `context` must outlive the fabric.
  ///
  /// The fabric reads the device's stream of asynchronous events (ibv_get_async_event). A program with its own verbs
  /// objects on the same device must not read that stream; events of these objects are dropped.
  ///
  /// As long as the fabric exists, it waits for the device's events, so `context` does not run out of work. A thread
  /// that posts work must not change its credentials (setfsuid, capset) after this call: uverbs compares the
  /// credentials, and refuses every later post.
  Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                       VerbsOptions options, Log log);

 private:
  std::shared_ptr<verbs::OpenDevices> devices_;
};

}  // namespace rpcrdma::fabric
