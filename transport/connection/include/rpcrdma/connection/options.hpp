// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::transport {

/// The versions of RPC-over-RDMA that one side uses. Version two is the profile xcharext-01 (rpcrdma/wire/header.hpp).
enum class VersionChoice : std::uint8_t {
  one,  ///< version one only
  two,  ///< version two only
  /// Both versions. A client offers version two, and uses version one if the server does not support version two. A
  /// server answers each call in the version of the call.
  automatic,
};

/// The values of the option --rdma-version: "1", "2", "auto".
RPCRDMA_EXPORT std::vector<std::string> version_names();
/// Parses a name of version_names(). Returns nothing for other text.
RPCRDMA_EXPORT std::optional<VersionChoice> parse_version(std::string_view text) noexcept;
/// The name of a choice; a literal.
RPCRDMA_EXPORT std::string_view name_of(VersionChoice choice) noexcept;

/// The exchange of transport characteristics in version two (draft-dnoveck-nfsv4-rpcrdma-xcharext-01).
struct CharacteristicOptions {
  bool exchange = true;  ///< false: this side refuses optional messages with RDMA2_ERR_INVAL_OPTION
  /// The maximum size in bytes to which the peer or the program may raise this side's Receives: from 4096 to 262144. A
  /// value below `receive_size` counts as `receive_size`.
  std::uint32_t max_receive_size = 65536;
  /// The maximum size in bytes to which this side's Sends may grow if the peer announces larger Receives. A value below
  /// `send_size` counts as `send_size`.
  std::uint32_t max_send_size = 65536;
  /// True: this side asks the peer for larger Receives when many calls of this side are too long for the present ones.
  /// When none of its recent calls needs larger Receives, it asks for Receives of the first size again
  /// (connection/inline_growth.hpp).
  bool adaptive = true;
  /// A request that is not answered within this time ends with BaseError::deadline_exceeded.
  std::chrono::milliseconds request_timeout{10000};
  /// The interval at which an `adaptive` client checks whether it is idle. If the client has made no call in the last
  /// interval, and the server's Receives are larger than their first size, the client asks for Receives of the first
  /// size again. It therefore asks when it has been idle for one to two intervals.
  std::chrono::milliseconds idle_shrink{30000};
};

/// One side's parameters for its connections. The sizes of Sends and Receives, the use of remote invalidation, and the
/// numbers of RDMA Reads are negotiated with the peer at every connect.
struct ConnectionOptions {
  /// Credits of the forward direction, requested by a client or granted by a server (RFC 8166 section 3.3.1); 1 to
  /// 1024.
  std::uint32_t credits = 32;
  /// Credits of the reverse direction, granted by a client or requested by a server (RFC 8167 section 4.1).
  std::uint32_t reverse_credits = 2;
  /// The maximum size of a Send in bytes: a multiple of 1024, from 1024 to 262144 (RFC 8797 section 4.2).
  std::uint32_t send_size = 4096;
  std::uint32_t receive_size = 4096;  ///< size of a Receive in bytes, with the limits of `send_size`
  /// Send and use RFC 8797 private data. If false, version one has thresholds of 1024 and no remote invalidation.
  bool private_data = true;
  /// Use Send with Invalidate, if the fabric and the peer can (RFC 8797 section 4.1). A reply can then invalidate a
  /// window of its call. If the call has timed out before, such a reply ends the connection. If the fabric lacks
  /// Capabilities::late_invalidation, the timeout of a call with windows already ends the connection. If this option
  /// is false, this side invalidates each of its windows itself, and a late reply does not end the connection.
  bool remote_invalidation = true;
  VersionChoice version = VersionChoice::one;  ///< versions of RPC-over-RDMA to use
  CharacteristicOptions characteristics{};     ///< used in version two only
  /// Time limit for setting up a connection.
  std::chrono::milliseconds handshake_timeout{5000};
  /// The most RDMA Reads that the peer may have outstanding at this side (IRD).
  std::uint32_t inbound_reads = 32;
  std::uint32_t outbound_reads = 32;  ///< the most RDMA Reads that this side may have outstanding at the peer (ORD)
};

}  // namespace rpcrdma::transport
