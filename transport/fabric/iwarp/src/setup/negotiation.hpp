// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The negotiation of MPA's connection set-up (RFC 5044 section 7.1, RFC 6581 section 9). Pure functions.
#include <optional>

#include "rpcrdma/fabric/fabric.hpp"
#include "wire/mpa_startup.hpp"
#include "wire/terminate.hpp"

namespace rpcrdma::fabric::iwarp {

/// The terms of a connection that this side wants. The negotiation combines them with those in the peer's Request or
/// Reply.
struct SetupWishes {
  bool crc = true;
  bool markers = false;  ///< whether this side wants markers in the stream that it receives
  bool enhanced = true;
  bool peer_to_peer = false;
  std::uint16_t inbound_reads = 0;
  std::uint16_t outbound_reads = 0;
  std::uint16_t max_reads = 0;  ///< the largest read depth that this side supports, in either direction
};

/// The initiator's ready-to-receive indication, in the peer-to-peer model.
enum class ReadyToReceive : std::uint8_t { none, write, read, send };

/// The result of the negotiation.
struct Agreement {
  bool crc = true;
  bool send_markers = false;
  bool receive_markers = false;
  std::uint32_t inbound_reads = 0;
  std::uint32_t outbound_reads = 0;
  ReadyToReceive ready_to_receive = ReadyToReceive::none;  ///< the first message of the initiator
};

/// The Request of an initiator.
StartupFrame make_request(const SetupWishes& wishes, Octets private_data);

/// [6581-9.1-a] Returns the IRD and ORD that the peer states in `frame`, its Request or Reply. The provider passes them
/// to the user in addition to the negotiated depths. Empty if the frame has no enhanced data of RFC 6581.
std::optional<ReadDepths> peer_reads(const StartupFrame& frame) noexcept;

/// Whether this side supports the revision of the Request.
bool acceptable(const StartupFrame& request) noexcept;

/// The Reply that accepts `request`. Sets `agreement` to the result of the negotiation.
StartupFrame make_reply(const StartupFrame& request, const SetupWishes& wishes, Octets private_data,
                        Agreement& agreement);
/// The Reply that rejects `request`.
StartupFrame make_rejection(const StartupFrame& request, Octets private_data);

/// An initiator's evaluation of the Reply to its Request.
struct Conclusion {
  enum class Outcome : std::uint8_t {
    agreed,
    rejected,   ///< the peer's ULP rejected the connection
    malformed,  ///< the Reply is not a valid answer to the Request: close the TCP connection
    terminate,  ///< this side cannot meet the terms of the Reply: send a Terminate with `error`, then close
  };
  Outcome outcome = Outcome::agreed;
  Agreement agreement;
  TerminateCode error;
};
Conclusion conclude(const StartupFrame& request, const StartupFrame& reply, const SetupWishes& wishes) noexcept;

}  // namespace rpcrdma::fabric::iwarp
