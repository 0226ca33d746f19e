// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A userspace iWARP stack over TCP sockets (RFC 5044, 6581, 5041, 5040), which needs no RDMA device. It interoperates
// with iWARP adapters and with Linux siw.
#include <chrono>
#include <memory>
#include <optional>

#include "rpcrdma/base/log.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric {

/// Options of the protocol stack. An option marked (tests) is meant for tests only.
struct IwarpOptions {
  /// Whether this side requires a CRC32C in every FPDU (RFC 5044 section 4.4). If `crc` is empty, this side requires
  /// CRCs unless both addresses are loopback addresses. CRCs are also used if the peer requires them. Without CRCs,
  /// only TCP's checksum protects the data.
  std::optional<bool> crc;
  /// The maximum size in bytes of a ULPDU that this side sends: 128 to 64768. If it is 0, the stack derives the maximum
  /// from the TCP segment size. On a connection within this host, this usually gives 64768.
  std::uint32_t max_ulpdu = 0;
  /// Request markers in the peer's stream (tests).
  bool request_markers = false;
  /// As initiator, negotiate read depths by RFC 6581. Linux NFS requires it.
  bool enhanced = true;
  /// As initiator, reconnect without RFC 6581 when the peer closes the connection instead of answering an enhanced
  /// request.
  bool fall_back = false;
  /// As initiator, request the peer-to-peer model of RFC 6581, in which either side may send first. No effect if
  /// `enhanced` is false.
  bool peer_to_peer = false;
  /// The local address that this side uses as initiator. If it is empty, the system chooses an address from which it
  /// can reach the peer.
  std::optional<boost::asio::ip::address> source{};
  /// The maximum number of outstanding Reads per direction and connection, at most 16382. If a queue pair asks for
  /// more, this number applies.
  std::uint32_t max_read_depth = 128;
  /// Time limit for an accepted TCP connection to deliver its whole request.
  std::chrono::milliseconds request_timeout{5000};
  /// The maximum number of connections whose request is incomplete, at least 1. When one more arrives, this side closes
  /// the oldest of them.
  std::uint32_t max_half_open = 1024;
  /// As initiator: if the peer sends nothing for this time after set-up, this side sends an empty Write, and repeats it
  /// at growing intervals until the peer sends. Some responders do not process the first FPDUs until more bytes arrive,
  /// and a responder must not send before it has processed an FPDU.
  std::chrono::milliseconds nudge_after{20};
  /// Time limit for an orderly end of a connection, and for delivering a Terminate. The limit of an orderly end starts
  /// again when one side has ended its direction of the TCP connection. It also starts again when it expires while
  /// posted work is outstanding, provided that bytes have been written meanwhile.
  std::chrono::milliseconds close_timeout{2000};
  /// Idle time after which TCP probes the peer, at least a second. If the peer does not answer for about the same time
  /// again (at least 6 s), the connection ends.
  std::chrono::seconds keepalive{60};
};

/// Opens the provider on `context`, which must outlive the fabric. Fails only if the kernel provides no random numbers.
///
/// Thread: the fabric belongs to `context` and its one thread. A ConnectionRequest may move to another iwarp fabric on
/// another thread. Queue pairs, windows and listeners may outlive the fabric object, but not the context.
Result<std::unique_ptr<Fabric>> open_iwarp(boost::asio::io_context& context, IwarpOptions options, Log log);

}  // namespace rpcrdma::fabric
