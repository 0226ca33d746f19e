// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "rpcrdma/ipoib/wire/encapsulation.hpp"
#include "rpcrdma/ipoib/wire/private_data.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {

/// A hand-made neighbour of the link under test. It connects to the link, and the test sends frames through its queue
/// pair.
class RawNeighbour {
 public:
  RawNeighbour(fabric::Fabric& fabric, const fabric::Endpoint& to, Bytes private_data)
      : node(fabric), receives(fabric, 64 * 256), frames(fabric, 70000) {
    fabric::QueuePairOptions options;
    options.send_depth = 1024;
    options.private_data = std::move(private_data);
    options.handshake_timeout = std::chrono::minutes(5);
    auto made = fabric.make_connector(to, options, node);
    EXPECT_TRUE(made) << made.error().message();
    node.qp = std::move(*made);
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_FALSE(node.qp->post_receive(receives.part(i * 256, 256), node.op(1)));
    fabric.start(*node.qp);
  }
  void send(const Bytes& frame) {
    std::ranges::copy(frame, frames.octets.begin());
    EXPECT_FALSE(node.send(frames.part(0, static_cast<std::uint32_t>(frame.size())), 2));
    node.qp->submit();
  }
  Node node;
  Memory receives;
  Memory frames;
};

/// A frame with this type that carries `packet`.
inline Bytes frame_of(std::uint16_t type, const Bytes& packet) {
  Bytes out(4);
  ipoib::encode_header(static_cast<ipoib::FrameType>(type), std::span<std::byte, 4>(out));
  out.insert(out.end(), packet.begin(), packet.end());
  return out;
}

/// The private data of a request or a reply.
inline Bytes private_data_of(const ipoib::PrivateData& data) {
  const auto bytes = ipoib::encode(data);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(ipoib::encoded_size(data))};
}

}  // namespace rpcrdma::test
