// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The fixture of the conformance tests for providers: two fabrics on one io_context, a listener, and nodes that log
// their callbacks. FABRIC_CONFORMANCE(Name, factory) runs all these tests on a provider.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "rpcrdma/fabric/fabric.hpp"
#include "support/hex.hpp"
#include "support/pattern.hpp"
#include "support/run.hpp"

namespace rpcrdma::test {

/// Memory and its registration.
struct Memory {
  Memory(fabric::Fabric& fabric, std::size_t size, std::byte value = std::byte{0});
  BufferRef all() const { return region->buffer(); }
  BufferRef part(std::uint32_t offset, std::uint32_t size) const { return all().slice(offset, size); }

  std::vector<std::byte> octets;
  std::unique_ptr<fabric::MemoryRegion> region;
};

/// A queue pair and a log of its callbacks.
class Node final : public fabric::QueuePairEvents {
 public:
  struct Done {
    int tag;
    fabric::Completion completion;
  };

  explicit Node(fabric::Fabric& fabric) : fabric_(fabric) {}

  void on_established(const fabric::ConnectionInfo& info) noexcept override;
  void on_rejected(const fabric::ConnectionInfo& peer) noexcept override;
  void on_disconnected(error_code why) noexcept override;
  void on_batch_end() noexcept override { ++batches; }

  /// Returns a context that logs its completion under `tag`. The context lives as long as the node.
  fabric::WorkContext* op(int tag);
  bool established() const { return info.has_value(); }
  /// The tags of the completed operations, in order.
  std::vector<int> tags() const;
  std::size_t count(int tag) const;
  const fabric::Completion& result(int tag) const;
  fabric::Fabric& fabric() noexcept { return fabric_; }

  error_code send(BufferRef buffer, int tag, const fabric::SendOptions& options = {}) {
    return qp->post_send({&buffer, 1}, options, op(tag));
  }
  error_code write(BufferRef buffer, const Segment& to, int tag, std::uint64_t skip = 0) {
    return qp->post_write({&buffer, 1}, to.handle, to.offset + skip, op(tag));
  }
  error_code read(BufferRef sink, const Segment& from, int tag, std::uint64_t skip = 0) {
    return qp->post_read(sink, from.handle, from.offset + skip, op(tag));
  }

  std::unique_ptr<fabric::QueuePair> qp;
  std::optional<fabric::ConnectionInfo> info;
  std::optional<fabric::ConnectionInfo> rejected;
  std::optional<error_code> disconnected;
  std::vector<Done> log;
  std::size_t batches = 0;
  std::size_t after_end = 0;        ///< completions after on_disconnected(): must stay 0
  bool inside_call = false;         ///< set by a test during a call within which no callback may run
  std::size_t nested = 0;           ///< callbacks while inside_call is set
  UniqueFunction<void()> on_start;  ///< if set, runs in on_established()
  UniqueFunction<void()> on_done;   ///< if set, runs after each completion
  UniqueFunction<void()> on_end;    ///< if set, runs in on_disconnected()

 private:
  struct Op final : fabric::WorkContext {
    Op(Node& n, int t) : node(n), tag(t) {}
    void on_completion(const fabric::Completion& completion) noexcept override { node.completed(tag, completion); }
    Node& node;
    int tag;
  };
  void completed(int tag, const fabric::Completion& completion);
  void callback() { nested += inside_call ? 1 : 0; }

  fabric::Fabric& fabric_;
  std::deque<Op> ops_;
};

/// Exposes a part of a node's memory to its peer.
class Exposed {
 public:
  Exposed(Node& node, BufferRef memory, fabric::Access access) {
    auto made = node.qp->make_window();
    EXPECT_TRUE(made) << made.error().message();
    window = std::move(*made);
    const auto bound = node.qp->bind(*window, memory, access);
    EXPECT_TRUE(bound) << bound.error().message();
    if (bound) segment = *bound;
    node.qp->submit();
  }
  std::unique_ptr<fabric::Window> window;
  Segment segment;
};

/// A provider under test: two fabrics on `context`.
struct Bed {
  virtual ~Bed() = default;
  boost::asio::io_context context;
  virtual fabric::Fabric& server() = 0;
  virtual fabric::Fabric& client() = 0;
  /// Whether the connection setup negotiates read depths. With RFC 5044 alone it does not.
  virtual bool negotiates_depths() const { return true; }
  /// Whether one side of a connection can distinguish an abort by the other side from an orderly end. A side that uses
  /// rdma_cm cannot.
  virtual bool aborts_are_seen() const { return true; }
  /// The address to which listeners of this bed bind.
  virtual fabric::Endpoint address() const { return {boost::asio::ip::address_v4::loopback(), 0}; }
};

struct BedFactory {
  const char* name;
  std::unique_ptr<Bed> (*make)();
  friend void PrintTo(const BedFactory& factory, std::ostream* out) { *out << factory.name; }
};

inline std::string bed_name(const testing::TestParamInfo<BedFactory>& info) { return info.param.name; }

class FabricTest : public testing::TestWithParam<BedFactory> {
 protected:
  FabricTest();

  template <class Predicate>
  bool until(Predicate done) {
    return run_until(bed_->context, done);
  }
  /// Listens, and accepts each request into a new node of `accepted_`.
  void listen(fabric::QueuePairOptions options = {});
  /// Connects `client_` to a listener; waits until both ends are established.
  void connect(fabric::QueuePairOptions client = {}, fabric::QueuePairOptions server = {});
  void start(Node& node, fabric::QueuePairOptions options = {});
  Node& server() { return *accepted_.back(); }
  /// Waits until `node` is disconnected; returns the reason.
  error_code end_of(Node& node);

  std::unique_ptr<Bed> bed_;
  std::unique_ptr<fabric::Listener> listener_;
  std::vector<std::unique_ptr<Node>> accepted_;
  Node client_;
};

/// Base of the tests of windows.
class WindowTest : public FabricTest {
 protected:
  /// The server writes `size` bytes, `skip` bytes after the start of `to`. Expects that this ends the connection.
  void expect_write_refused(const Segment& to, std::uint64_t skip, std::uint32_t size);
  void expect_read_refused(const Segment& from, std::uint64_t skip, std::uint32_t size);
  /// Invalidates an exposure of the client; waits until that has completed.
  void invalidate(const Exposed& exposed);

 private:
  void expect_refusal();
};

}  // namespace rpcrdma::test

/// Runs all conformance tests on one provider, which may be set up in several ways.
#define FABRIC_CONFORMANCE(name, ...)                                                                    \
  INSTANTIATE_TEST_SUITE_P(name, FabricTest, ::testing::Values(__VA_ARGS__), ::rpcrdma::test::bed_name); \
  INSTANTIATE_TEST_SUITE_P(name, WindowTest, ::testing::Values(__VA_ARGS__), ::rpcrdma::test::bed_name)
