// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Credits of one direction as the requester counts them (RFC 8166 section 3.3.1). Each direction has its own credits
// (RFC 8167 section 4.1). Does no I/O.
#include <algorithm>
#include <cstdint>

namespace rpcrdma::transport {

class Credits {
 public:
  /// `requested`: the largest number of calls wanted in flight. The header of each call carries this number.
  explicit Credits(std::uint32_t requested) noexcept : requested_(std::max(requested, 1u)) {}

  std::uint32_t requested() const noexcept { return requested_; }
  std::uint32_t granted() const noexcept { return granted_; }
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  /// The number of calls that may be sent now.
  std::uint32_t available() const noexcept {
    // [8166-3.3.1-a] [8166-3.3.1-c] a grant may be smaller than the number of calls in flight
    const std::uint32_t limit = std::min(requested_, granted_);
    return limit > in_flight_ ? limit - in_flight_ : 0;
  }

  void call_sent() noexcept { ++in_flight_; }
  void call_answered() noexcept { --in_flight_; }
  /// Takes the grant of a reply: an absolute number, not a difference [8166-3.3.1-d]. A grant of 0, which no responder
  /// may send [8166-3.3.1-b], counts as 1: 0 would stall the connection permanently.
  void grant(std::uint32_t value) noexcept { granted_ = std::max(value, 1u); }
  /// To be called for each new connection. The requester has one credit until the first reply on this connection
  /// [8166-3.3.3-a] [v2-5-a].
  void restart() noexcept {
    granted_ = 1;
    in_flight_ = 0;
  }

 private:
  std::uint32_t requested_;
  std::uint32_t granted_ = 1;
  std::uint32_t in_flight_ = 0;
};

}  // namespace rpcrdma::transport
