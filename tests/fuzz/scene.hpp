// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <deque>

#include "input.hpp"
#include "protocol/transport/raw_peer.hpp"
#include "rpcrdma/fabric/loopback/loopback.hpp"
#include "rpcrdma/wire/private_data.hpp"

namespace rpcrdma::fuzz {

/// The common part of the fuzz targets in which a peer sends messages to the library as the input directs. Owns this
/// peer, the network, and the fabric and pool of the library's side. The first two bytes of the input select the
/// behaviour of the network, the versions of the library's side, and the peer's private data.
class PeerScene {
 protected:
  PeerScene(Input in, const char* name_of_library_side)
      : in_(in),
        flags_(in_.u8()),
        network_(std::in_place, context_, network_options()),
        fabric_(network_->make_fabric(name_of_library_side)),
        peer_fabric_(network_->make_fabric("peer")),
        pool_(std::in_place, *fabric_),
        peer_(std::in_place, *peer_fabric_) {
    const auto agreed = wire::encode(wire::PrivateData{(flags_ & 16) != 0, 4096, 4096});
    if ((flags_ & 32) != 0) peer_->private_data.assign(agreed.begin(), agreed.end());
  }

  transport::VersionChoice version() const noexcept {
    return (flags_ & 8) != 0 ? transport::VersionChoice::automatic : transport::VersionChoice::one;
  }
  template <class Action>
  void with_peer(Action action) {
    if (peer_->connected()) action();
  }
  /// Sends a message, unless the header cannot be encoded.
  void send(const wire::Header& header, Octets payload, std::optional<std::uint32_t> invalidate = {}) {
    test::Bytes message(wire::encoded_size(header));
    if (!wire::encode(header, message)) return;
    message.insert(message.end(), payload.begin(), payload.end());
    peer_->send(message, invalidate);
  }

 private:
  fabric::LoopbackOptions network_options() {
    fabric::LoopbackOptions out;
    out.seed = 1 + in_.u8();
    out.max_delay = flags_ & 3;
    out.reorder = (flags_ & 4) != 0;
    return out;
  }

 protected:
  Input in_;
  const std::uint8_t flags_;
  boost::asio::io_context context_;
  std::optional<fabric::LoopbackNetwork> network_;
  std::unique_ptr<fabric::LoopbackFabric> fabric_;
  std::unique_ptr<fabric::LoopbackFabric> peer_fabric_;
  std::optional<memory::Pool> pool_;
  std::deque<test::Bytes> reads_;
  std::optional<test::RawPeer> peer_;
};

}  // namespace rpcrdma::fuzz
