// SPDX-License-Identifier: BSD-3-Clause
// The conformance tests of all fabrics, run over verbs, and properties of verbs, among them reused windows, unsignalled
// work, the end of connections as InfiniBand reports it, other threads, missing devices.
#include <algorithm>
#include <future>
#include <thread>

#include "interop/fabric/held.hpp"
#include "interop/fabric/verbs_bed.hpp"

namespace rpcrdma::test {

class VerbsTest : public FabricTest {
 protected:
  bool has_windows() const { return bed_->client().capabilities().remote_invalidation; }

  static constexpr std::size_t kMany = 200;
  /// Connects with a short send queue, and sends kMany messages to the server with `post`.
  template <class Post>
  void send_more_than_fit(Post post) {
    fabric::QueuePairOptions small;
    small.send_depth = 8;
    small.receive_depth = 256;
    connect(small, small);
    const Memory from(bed_->client(), 64);
    const Memory to(bed_->server(), 64);
    for (std::size_t i = 0; i < kMany; ++i) ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
    for (std::size_t i = 0; i < kMany; ++i) {
      error_code posted;
      ASSERT_TRUE(until([&] { return (posted = post(from.all())) != fabric::FabricError::queue_full; }));
      ASSERT_FALSE(posted) << posted.message();
      client_.qp->submit();
    }
    EXPECT_TRUE(until([&] { return server().count(1) == kMany; }));
  }
};

namespace {

using fabric::Access;
using fabric::FabricError;

constexpr fabric::SendOptions kDeferred{.solicited = false, .invalidate = {}, .defer_completion = true};

// The peer invalidates a window remotely, and this side binds the window again without invalidating it itself. The test
// does this 300 times, so that keys are used again: a window has at most 256 different keys.
TEST_P(VerbsTest, WindowsAreReusedAfterRemoteInvalidation) {
  if (!has_windows()) return;
  connect();
  Memory target(bed_->client(), 1000);
  Memory source(bed_->server(), 1000);
  Memory message(bed_->client(), 64);
  auto window = client_.qp->make_window();
  ASSERT_TRUE(window);
  for (int i = 0; i < 300; ++i) {
    fill_pattern(source.octets, static_cast<unsigned>(i));
    const auto bound = client_.qp->bind(**window, target.all(), Access::remote_write);
    ASSERT_TRUE(bound) << bound.error().message();
    ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(i)));
    client_.qp->submit();
    ASSERT_FALSE(server().write(source.all(), *bound, i));
    ASSERT_FALSE(server().send(source.part(0, 1), 1000 + i, {.invalidate = bound->handle}));
    server().qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(i) == 1 && server().count(1000 + i) == 1; })) << i;
    ASSERT_EQ(client_.result(i).invalidated, bound->handle) << i;
    ASSERT_FALSE((*window)->bound());
    ASSERT_TRUE(has_pattern(target.octets, static_cast<unsigned>(i))) << i;
  }
}

// The client invalidates a window that the peer has already invalidated. The client's invalidation still completes
// after all work that the client posted before it, unsignalled work included.
TEST_P(VerbsTest, ForestalledInvalidationsKeepTheirTurn) {
  if (!has_windows()) return;
  connect();
  Memory target(bed_->client(), 100);
  Memory message(bed_->client(), 64);
  Memory source(bed_->server(), 200);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(client_.qp->post_receive(message.all(), client_.op(1)));
  for (std::uint32_t i = 0; i < 2; ++i)
    ASSERT_FALSE(server().qp->post_receive(source.part(i * 100, 100), server().op(9)));
  ASSERT_FALSE(server().send({}, 2, {.invalidate = exposed.segment.handle}));
  server().qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  const BufferRef part = target.part(0, 10);
  ASSERT_FALSE(client_.send(part, 3));
  ASSERT_FALSE(client_.qp->post_send({&part, 1}, {}, nullptr));
  client_.qp->submit();
  client_.inside_call = true;
  ASSERT_FALSE(client_.qp->invalidate(*exposed.window, client_.op(4)));
  client_.inside_call = false;
  client_.qp->submit();
  ASSERT_TRUE(until([&] { return client_.count(4) == 1; }));
  EXPECT_EQ(client_.tags(), (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(client_.nested, 0u);
  EXPECT_TRUE(until([&] { return server().count(9) == 2; }));
}

// The server sends a Send with Invalidate whose handle belongs to a window of another connection. An adapter refuses
// the invalidation. rxe executes it. In both cases the connection that carried the Send ends.
TEST_P(VerbsTest, AnInvalidationOfAnothersWindowEndsTheConnection) {
  if (!has_windows()) return;
  connect();
  Node other(bed_->client());
  start(other);
  ASSERT_TRUE(until([&] { return accepted_.size() == 2 && server().established() && other.established(); }));
  Memory target(bed_->client(), 100);
  Memory message(bed_->client(), 64);
  const Exposed exposed(client_, target.all(), Access::remote_write);
  ASSERT_FALSE(client_.qp->post_write({}, 0, 0, client_.op(1)));
  client_.qp->submit();
  // The Write completes after the bind that was posted before it, so the window is bound from here on.
  ASSERT_TRUE(until([&] { return client_.count(1) == 1; }));
  ASSERT_FALSE(other.qp->post_receive(message.all(), other.op(1)));
  other.qp->submit();
  ASSERT_FALSE(server().send({}, 2, {.invalidate = exposed.segment.handle}));
  server().qp->submit();
  EXPECT_EQ(end_of(other), FabricError::protocol_violation);
  EXPECT_TRUE(other.result(1).status.failed());
  EXPECT_FALSE(client_.disconnected);
}

TEST_P(VerbsTest, UnsignalledWorkGivesItsSlotsBack) {
  send_more_than_fit([this](BufferRef part) { return client_.qp->post_send({&part, 1}, {}, nullptr); });
  EXPECT_TRUE(client_.log.empty());
}

TEST_P(VerbsTest, DeferredCompletionsGiveTheirSlotsBack) {
  send_more_than_fit([this](BufferRef part) { return client_.send(part, 2, kDeferred); });
  EXPECT_TRUE(until([&] { return client_.count(2) == kMany; }));
}

TEST_P(VerbsTest, DeferredCompletionsArriveWithTheNextMessage) {
  connect();
  Memory from(bed_->client(), 64);
  Memory to(bed_->server(), 64);
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(i)));
    ASSERT_FALSE(client_.qp->post_receive(from.part(0, 32), client_.op(1000 + i)));
    ASSERT_FALSE(client_.send(from.part(32, 32), i, kDeferred));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return server().count(i) == 1; }));
    ASSERT_FALSE(server().send(to.part(0, 32), 1000 + i, kDeferred));
    server().qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(1000 + i) == 1; }));
    EXPECT_TRUE(until([&] { return client_.count(i) == 1; })) << i;
  }
  EXPECT_TRUE(until([&] { return server().count(1000 + kRounds - 1) == 1; })) << "no message follows it";
}

TEST_P(VerbsTest, DeferredCompletionsDoNotDelayTheEnd) {
  connect();
  Memory from(bed_->client(), 64);
  Memory to(bed_->server(), 64);
  ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
  ASSERT_FALSE(client_.send(from.all(), 2, kDeferred));
  client_.qp->submit();
  client_.qp->disconnect();
  EXPECT_FALSE(end_of(client_));
  EXPECT_FALSE(client_.result(2).status);
  EXPECT_FALSE(end_of(server()));
}

// siw may complete a Send before an RDMA Read that was posted ahead of it; the fabric must not.
TEST_P(VerbsTest, NothingCompletesBeforeTheReadsAheadOfIt) {
  connect();
  constexpr std::uint32_t kSize = 200000;
  constexpr int kRounds = 30;
  Memory from(bed_->server(), kSize);
  Memory to(bed_->client(), kSize);
  Memory note(bed_->server(), 64);
  const Exposed exposed(server(), from.all(), Access::remote_read);
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_FALSE(server().qp->post_receive(note.all(), server().op(1)));
    fill_pattern(from.octets, static_cast<unsigned>(i));
    ASSERT_FALSE(client_.qp->post_read(to.all(), exposed.segment.handle, exposed.segment.offset, client_.op(2 * i)));
    ASSERT_FALSE(client_.send({}, 2 * i + 1));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(2 * i) == 1; })) << i;
    EXPECT_TRUE(has_pattern(to.octets, static_cast<unsigned>(i))) << i;
    ASSERT_TRUE(until([&] { return client_.count(2 * i + 1) == 1; })) << i;
  }
  const std::vector<int> tags = client_.tags();
  EXPECT_TRUE(std::is_sorted(tags.begin(), tags.end()));
}

// When a Send has completed, the provider no longer reads the memory of the unsignalled Write before it. The client
// therefore writes new data to this memory in each round, and the server must still receive the data of every Write.
TEST_P(VerbsTest, MemoryIsFreeOnceLaterWorkIsDone) {
  connect();
  constexpr std::uint32_t kSize = 6000;
  constexpr std::uint32_t kRounds = 300;
  Memory from(bed_->client(), kSize);
  Memory to(bed_->server(), kSize * kRounds);
  Memory note(bed_->server(), 64);
  const Exposed exposed(server(), to.all(), Access::remote_write);
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    ASSERT_FALSE(server().qp->post_receive(note.all(), server().op(1)));
    fill_pattern(from.octets, i);
    const BufferRef part = from.all();
    ASSERT_FALSE(
        client_.qp->post_write({&part, 1}, exposed.segment.handle, exposed.segment.offset + i * kSize, nullptr));
    ASSERT_FALSE(client_.send({}, 2));
    client_.qp->submit();
    ASSERT_TRUE(until([&] { return client_.count(2) == i + 1; })) << i;
  }
  ASSERT_TRUE(until([&] { return server().count(1) == kRounds; }));
  for (std::uint32_t i = 0; i < kRounds; ++i)
    EXPECT_TRUE(has_pattern(std::span(to.octets).subspan(i * kSize, kSize), i)) << i;
}

// After an abort by the client, both sides end. The test does not check the reason that the server reports, because on
// InfiniBand the peer cannot tell an abort from an orderly disconnection.
TEST_P(VerbsTest, BothSidesSeeAnAbort) {
  connect();
  Memory memory(bed_->client(), 64);
  Memory other(bed_->server(), 64);
  for (int i = 0; i < 10; ++i) {
    ASSERT_FALSE(client_.qp->post_receive(memory.all(), client_.op(100 + i)));
    ASSERT_FALSE(client_.send(memory.all(), i));
    ASSERT_FALSE(server().qp->post_receive(other.all(), server().op(i)));
  }
  client_.qp->abort();
  EXPECT_EQ(end_of(client_), FabricError::flushed);
  end_of(server());
  EXPECT_EQ(client_.log.size(), 20u);
  for (const Node::Done& done : client_.log) EXPECT_EQ(done.completion.status, FabricError::flushed);
  EXPECT_EQ(server().tags(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(client_.after_end + server().after_end, 0u);
}

// A Send arrives while no receive is posted. The receiver gets no completion for this Send, but both sides of the
// connection end. On InfiniBand, the Send fails, and the sender's side ends with remote_terminated.
TEST_P(VerbsTest, ASendWithoutAReceiveEndsBothSides) {
  connect();
  Memory from(bed_->client(), 64);
  ASSERT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  const error_code why = end_of(client_);
  end_of(server());
  if (on_iwarp()) return;
  EXPECT_EQ(why, FabricError::remote_terminated);
  EXPECT_TRUE(client_.result(2).status.failed());
}

// The server writes one byte beyond the end of a window that covers a whole memory region of the client. Some devices
// do not enforce the bounds of a window. They still enforce the bounds of the region, so the memory behind it is safe.
TEST_P(VerbsTest, TheRegionBoundsAreKept) {
  connect();
  std::vector<std::byte> memory(3 * 4096, std::byte{0xee});
  auto region = bed_->client().register_memory(std::span(memory).subspan(4096, 4096));
  ASSERT_TRUE(region);
  const Exposed exposed(client_, (*region)->buffer(), Access::remote_write);
  Memory source(bed_->server(), 4096, std::byte{0x11});
  ASSERT_FALSE(server().write(source.all(), exposed.segment, 1, 1));
  server().qp->submit();
  const error_code why = end_of(server());
  end_of(client_);
  if (!on_iwarp()) {
    EXPECT_EQ(why, FabricError::remote_access);
  }
  EXPECT_TRUE(all_are(std::span(memory).subspan(8192), std::byte{0xee}));
}

TEST_P(VerbsTest, FortyConnectionsAtOnce) {
  listen();
  std::vector<std::unique_ptr<Node>> clients;
  for (int i = 0; i < 40; ++i) start(*clients.emplace_back(std::make_unique<Node>(bed_->client())));
  EXPECT_TRUE(until([&] {
    return std::all_of(clients.begin(), clients.end(), [](const auto& node) { return node->established(); });
  }));
}

TEST_P(VerbsTest, ConnectionsLeaveNothingBehind) {
  connect();
  Memory target(bed_->client(), 4096);
  const auto come_and_go = [&](bool in_order) {
    Node again(bed_->client());
    start(again);
    ASSERT_TRUE(until([&] { return again.established() && server().established(); }));
    const Exposed exposed(again, target.all(), Access::remote_write);
    if (in_order)
      again.qp->disconnect();
    else
      server().qp->abort();
    end_of(again);
    end_of(server());
    accepted_.pop_back();
  };
  Held before;
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(come_and_go(i % 2 == 0)) << i;
    if (i == 1) before = held();
  }
  EXPECT_EQ(held(), before);
}

// A listener may pass a connection request to a fabric on another thread, which accepts the request.
TEST_P(VerbsTest, AcceptsOnAnotherThread) {
  boost::asio::io_context elsewhere;
  auto other = open_at_device(elsewhere);
  Node acceptor(*other);
  Memory to(*other, 64);
  std::promise<void> received;
  acceptor.on_done = [&] { received.set_value(); };
  auto listener = bed_->server().listen(bed_->address(), [&](std::unique_ptr<fabric::ConnectionRequest> request) {
    boost::asio::post(elsewhere, [&, request = std::move(request)]() mutable {
      auto qp = other->make_acceptor(std::move(request), {}, acceptor);
      ASSERT_TRUE(qp) << qp.error().message();
      acceptor.qp = std::move(*qp);
      ASSERT_FALSE(acceptor.qp->post_receive(to.all(), acceptor.op(1)));
      other->start(*acceptor.qp);
    });
  });
  ASSERT_TRUE(listener);
  listener_ = std::move(*listener);
  // run() does not return before stop(), because the fabric `other` waits for events of its device.
  std::thread thread([&] { elsewhere.run(); });
  start(client_);
  Memory from(bed_->client(), 64);
  fill_pattern(from.octets, 12);
  EXPECT_TRUE(until([&] { return client_.established(); }));
  EXPECT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  EXPECT_TRUE(until([&] { return client_.count(2) == 1; }));
  EXPECT_EQ(received.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  acceptor.on_done.reset();
  boost::asio::post(elsewhere, [&] { acceptor.qp.reset(); });
  end_of(client_);
  elsewhere.stop();
  thread.join();
  EXPECT_TRUE(has_pattern(to.octets, 12));
}

class ProbeTest : public FabricTest {};

// While the connection is idle, each side probes the other. The probes cause no completions and no other events for the
// users of the queue pairs, and the connection can be used afterwards.
TEST_P(ProbeTest, IdleConnectionsStay) {
  connect();
  const auto quiet = std::chrono::steady_clock::now() + 2 * kProbing;
  until([&] { return std::chrono::steady_clock::now() >= quiet; });
  EXPECT_FALSE(client_.disconnected || server().disconnected);
  EXPECT_TRUE(client_.log.empty() && server().log.empty());
  Memory from(bed_->client(), 64);
  Memory to(bed_->server(), 64);
  fill_pattern(from.octets, 3);
  ASSERT_FALSE(server().qp->post_receive(to.all(), server().op(1)));
  ASSERT_FALSE(client_.send(from.all(), 2));
  client_.qp->submit();
  EXPECT_TRUE(until([&] { return client_.count(2) == 1 && server().count(1) == 1; }));
  EXPECT_TRUE(has_pattern(to.octets, 3));
}

TEST_P(VerbsTest, DevicesThatAreNotThere) {
  boost::asio::io_context context;
  for (const char* address : {"127.0.0.1", "0.0.0.0", "::1", "::"}) {
    const auto at = boost::asio::ip::make_address(address);
    EXPECT_FALSE(fabric::verbs_device_at(at)) << address;
    EXPECT_EQ(verbs_provider().open(context, at, {}, {}).error(), FabricError::no_device) << address;
  }
  EXPECT_TRUE(fabric::verbs_device_at(boost::asio::ip::make_address(verbs_address())));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Verbs, FabricTest, testing::ValuesIn(verbs_beds()));
INSTANTIATE_TEST_SUITE_P(Verbs, WindowTest, testing::ValuesIn(verbs_beds()));
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsTest, testing::ValuesIn(verbs_beds()));
INSTANTIATE_TEST_SUITE_P(Verbs, ProbeTest, testing::ValuesIn(probing_beds()));

}  // namespace rpcrdma::test
