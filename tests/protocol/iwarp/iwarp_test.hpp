// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <gtest/gtest.h>

#include "raw_peer.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "support/fabric_conformance.hpp"

namespace rpcrdma::test {

using fabric::FabricError;
using iwarp::Opcode;

/// An iWARP fabric with one node, which the tests check, and a raw TCP peer.
class IwarpTest : public testing::Test {
 protected:
  /// Opens the fabric with options other than the defaults. Call it first.
  void open(const fabric::IwarpOptions& options);

  // listen(), ask() and serve() are for tests in which the peer connects to the node. listen() makes the node accept
  // each connection request.
  void listen(fabric::QueuePairOptions options = {});
  /// Lets the peer connect and send `request`.
  void ask(const Bytes& request);
  /// Completes the set-up with the node as responder. The peer sends an enhanced Request (RFC 6581) with read depths of
  /// 16 and no private data, and reads the Reply. `crc` says whether the peer requests CRCs.
  void serve(bool crc = false, fabric::QueuePairOptions options = {});

  // start(), asked() and connect() are for tests in which the node connects to the peer. start() makes the node begin
  // the set-up. connect() does the whole set-up.
  void start(fabric::QueuePairOptions options = {});
  void start_to(const fabric::Endpoint& peer, fabric::QueuePairOptions options = {});
  /// Returns the node's Request.
  Bytes asked();
  void connect(fabric::QueuePairOptions options = {});

  template <class Predicate>
  bool until(Predicate done) {
    return run_until(context_, done);
  }
  error_code end();
  /// Posts a receive of `size` bytes.
  void post_receive(std::uint32_t size, int tag);
  Memory& memory() { return *memory_; }
  Exposed expose(std::uint32_t offset, std::uint32_t size, fabric::Access access) {
    return Exposed(node(), memory().part(offset, size), access);
  }
  /// Reads FPDUs up to a Terminate, which must have `code`. After it the connection must end without a reset.
  iwarp::Terminate terminated(const iwarp::TerminateCode& code);

  Node& node() { return *node_; }

  boost::asio::io_context context_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Listener> listener_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Node> node_;
  std::uint32_t used_ = 0;  // bytes of the memory that are in use by receives
  RawPeer peer_{context_};
  Bytes terminate_;
};

}  // namespace rpcrdma::test
