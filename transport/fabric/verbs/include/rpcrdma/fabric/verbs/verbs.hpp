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
  /// True if the address that Verbs::open() gets is the address of a peer. Verbs::open() then tries the device that
  /// leads to the peer before a device at the address, because the peer may be another device of this host.
  bool towards = false;
  std::uint32_t max_gather = 16;  ///< the most buffers in one Send or Write
  /// The data of a Send or RDMA Write of at most this many bytes is copied into the work request, so that the device
  /// need not fetch it from memory.
  std::uint32_t max_inline = 256;
  std::uint32_t signal_interval = 16;  ///< at least one of this many consecutive work requests is signalled
  /// How long Verbs::open() may block to find the device that leads to an address.
  std::chrono::milliseconds resolve_timeout{2000};
  /// The time without a completion after which the provider probes the peer of a connection with an empty RDMA Write.
  /// A value below one second counts as one second. The provider counts quarters of this time, so the probe may come up
  /// to one quarter early.
  ///
  /// On InfiniBand and RoCE the device repeats the Write for about 8 s. If the peer's device does not acknowledge the
  /// Write within that time, the connection ends with ETIMEDOUT. On iWARP, TCP retransmits the Write, and the time
  /// limit of TCP applies instead.
  std::chrono::seconds keepalive{60};
  /// The function that returns the number of a new connection. A program that loads the provider as a plug-in passes
  /// its own next_connection_number(). The plug-in may contain a second copy of that function, whose separate counter
  /// would return numbers that other connections of the program already have.
  std::uint64_t (*next_number)() noexcept = &next_connection_number;
};

/// Whether binding `address` yields an RDMA device. False for wildcard and loopback addresses.
bool verbs_device_at(const boost::asio::ip::address& address) noexcept;

/// Opens fabrics on RDMA devices. Make only one object of this class in a process: librdmacm opens each device only
/// once per process, and this object shares the device between its fabrics. A device that was removed is closed when
/// the last fabric on it is destroyed. The object may be used on any thread. Its fabrics may outlive it.
class Verbs {
 public:
  Verbs();

  /// Opens a fabric on the device that has `address` or, if there is none, on the device through which `address` can be
  /// reached. With VerbsOptions::towards, the function looks for the second kind of device first. It may block for
  /// about VerbsOptions::resolve_timeout, so call it at start-up only. The fabric survives the loss of its device
  /// (lasting.hpp).
  ///
  /// Fails with FabricError::no_device if there is no such device, with no_rdma if the kernel offers no RDMA, and with
  /// device_closed or no_driver if the device cannot be used. The messages of these errors state what is missing.
  ///
  /// The fabric belongs to `context`, which must outlive it, and to the one thread that runs `context`. A connection
  /// request that arrives at a listener of this fabric may be accepted by another fabric on the same device.
  ///
  /// The fabric reads the device's stream of asynchronous events (ibv_get_async_event). If the program has verbs
  /// objects of its own on the same device, it must not read this stream. The fabric drops the events of these objects.
  ///
  /// While the fabric exists, it waits for events of the device, so `context` does not run out of work. A thread that
  /// posts work must not change its credentials (setfsuid, capset) after this call: uverbs compares the credentials,
  /// and refuses every later post of a thread whose credentials have changed.
  Result<std::unique_ptr<Fabric>> open(boost::asio::io_context& context, const boost::asio::ip::address& address,
                                       VerbsOptions options, Log log);

 private:
  std::shared_ptr<verbs::OpenDevices> devices_;
};

}  // namespace rpcrdma::fabric
