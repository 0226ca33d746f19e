// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The provider that needs no RDMA device: a userspace iWARP stack over TCP sockets (RFC 5044, 6581, 5041, 5040),
// wire compatible with iWARP adapters and Linux siw.
#include <chrono>
#include <memory>
#include <optional>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// How a fabric speaks. The defaults are for use; what is marked (tests) is there to reach every path.
struct IwarpOptions {
  /// CRC32C over every FPDU (RFC 5044 section 4.4). Empty: off when both addresses are loopback, else on.
  /// The peer may impose it in any case. Off, only TCP's checksum protects the data.
  std::optional<bool> crc;
  /// Largest ULPDU sent, 128 to 64768. 0: 64768 when the peer is on this host, else from the path's segment size.
  std::uint32_t max_ulpdu = 0;
  /// Ask the peer for markers in what it sends (tests).
  bool request_markers = false;
  /// As initiator, negotiate read depths by RFC 6581. Linux NFS insists on it.
  bool enhanced = true;
  /// As initiator, connect anew without RFC 6581 when the peer closes on an enhanced request.
  bool fall_back = false;
  /// As initiator, ask for the peer-to-peer model of RFC 6581, in which either side may send first.
  bool peer_to_peer = false;
  /// Most reads outstanding per direction and connection: caps what queue pairs ask for. At most 16382.
  std::uint32_t max_read_depth = 128;
  /// How long an accepted TCP connection may take to bring its whole request.
  std::chrono::milliseconds request_timeout{5000};
  /// Connections that have not brought their request yet, at least 1. The oldest is closed when another comes.
  std::uint32_t max_half_open = 1024;
  /// As initiator: silence of the peer since the set-up after which an empty Write is sent, and again, ever more
  /// rarely, until it says something. Some responders leave the first FPDUs unread until more octets follow them, and
  /// may not send before they have seen one.
  std::chrono::milliseconds nudge_after{20};
  /// How long an orderly end may take once nothing more goes out, and a Terminate to get out.
  std::chrono::milliseconds close_timeout{2000};
  /// Silence after which TCP asks whether the peer is still there, at least a second; one that is not is given up
  /// after as long again.
  std::chrono::seconds keepalive{60};
};

/// Opens the provider on `context`, which outlives it. Cannot fail but for want of random numbers.
///
/// Thread: the fabric belongs to `context` and its one thread. A ConnectionRequest may move to another iwarp fabric
/// on another thread. Queue pairs, windows and listeners may outlive the fabric object, not the context.
Result<std::unique_ptr<Fabric>> open_iwarp(boost::asio::io_context& context, IwarpOptions options, Log log);

}  // namespace rpcrdma::fabric
