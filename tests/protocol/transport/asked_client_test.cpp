// SPDX-License-Identifier: BSD-3-Clause
// The server requests smaller or larger receives from a hand-made client. The client answers late or not at all, or
// answers that the change is pending. One client makes requests itself, and cancels one before the server has sent the
// update for an earlier one. One server is short of memory and offers smaller receives.
#include <gtest/gtest.h>

#include "hostile_client.hpp"
#include "rpcrdma/connection/error.hpp"

namespace rpcrdma::test {
namespace {

using transport::ChangeOutcome;

/// A hand-made client of version two that has announced its characteristics, so that the server may request changes of
/// them. By default, the server waits at most 20 ms for the answer to a request (see impatient()).
class AskedClient : public HostileClient {
 protected:
  explicit AskedClient(const SidesOptions& options = impatient()) : HostileClient(options, 1) {
    sides.handler.intercept = [this](transport::IncomingCall& call) {
      exchange = call.exchange();
      return false;
    };
    begin();
    EXPECT_EQ(answers(option(20, kInit, {1, 1, 4, 16384, 0})), std::vector<std::string>{});
  }
  static SidesOptions impatient() {
    SidesOptions options = two();
    options.server.connection.credits = 3;
    options.server.connection.characteristics.request_timeout = std::chrono::milliseconds(20);
    return options;
  }
  /// Lets the server request receives of `size` bytes; returns the XID of the request, 0 if the request was not sent in
  /// time.
  std::uint32_t ask(std::uint32_t size) {
    over = false;
    exchange->async_request({.receive_buffer_size = size}, [this](error_code why, ChangeOutcome of) {
      over = true;
      failed = why;
      outcome = of;
    });
    EXPECT_TRUE(sides.wait([&] { return over || !peer.messages.empty(); }));
    return peer.messages.empty() ? 0 : decoded(peer.take()).xid;
  }
  void await_end() {
    EXPECT_TRUE(sides.wait([&] { return over; }));
  }
  void respond(std::uint32_t xid, std::initializer_list<std::uint32_t> sets) {
    peer.send(option(xid, kResponse, sets, 1));
    run_ready(sides.context);
  }
  /// Makes a call that offers a Reply chunk, and whose reply has a body of `size` bytes; returns whether the server
  /// sends the reply inline.
  bool is_sent_inline(std::uint32_t size) {
    replies.push_back(peer.expose(65536, fabric::Access::remote_write));
    wire::Header header;
    header.xid = 60;
    header.version = 2;
    header.credits = 8;
    header.chunks.begin_reply_chunk();
    header.chunks.add_reply_segment(replies.back().segment);
    peer.send(header, words({60, 0, 1, size, 0, 0}));
    EXPECT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    const wire::Header reply = decoded(peer.take());
    EXPECT_EQ(reply.xid, 60u);
    return reply.procedure == wire::Procedure::msg;
  }
  /// Makes two calls whose replies fill Write chunks of many segments. The server needs one RDMA Write for each
  /// segment. It cannot have so many Writes outstanding, so a part of the second reply waits.
  void plan_replies() {
    constexpr std::uint32_t kSegments = 200, kLength = 64;
    for (std::uint32_t xid = 61; xid < 63; ++xid) {
      replies.push_back(peer.expose(kSegments * kLength, fabric::Access::remote_write));
      Segment segment = replies.back().segment;
      segment.length = kLength;
      wire::Header header;
      header.xid = xid;
      header.version = 2;
      header.credits = 8;
      header.chunks.begin_write_chunk();
      for (std::uint32_t i = 0; i < kSegments; ++i, segment.offset += kLength) header.chunks.add_write_segment(segment);
      peer.send(header, words({xid, 0, 1, 0, 0, 1, kSegments * kLength}));
    }
    run_ready(sides.context);
  }
  /// Starts a change of the server's own receives to `size` bytes, and expects the outcome Disposition::pending.
  void ask_own_side(std::uint32_t size) {
    exchange->async_change({.receive_buffer_size = size}, [](error_code why, ChangeOutcome of) {
      EXPECT_FALSE(why);
      EXPECT_EQ(of.receive_buffer_size, transport::Disposition::pending);
    });
  }
  /// Makes four calls, one after the other. This number is one more than the number of credits that the server grants.
  /// Four calls therefore show the server that a request that it sent before them has arrived, even if the client has
  /// not answered the request.
  void prove_arrival() {
    for (int i = 0; i < 4; ++i) is_sent_inline(0);
  }

  transport::CharacteristicsExchange* exchange = nullptr;
  std::deque<RawPeer::Exposed> replies;
  bool over = false;
  error_code failed;
  ChangeOutcome outcome;
};

// [xchar-3.1-d] a server that requests smaller receives sends only messages that fit them from then on, whether the
// client answers or not
TEST_F(AskedClient, IsSentNoMoreThanItMayHaveLoweredTo) {
  EXPECT_TRUE(is_sent_inline(12000));
  const std::uint32_t xid = ask(8192);
  EXPECT_FALSE(is_sent_inline(12000)) << "the client has not answered yet";
  EXPECT_TRUE(is_sent_inline(8000));
  await_end();
  EXPECT_EQ(failed, BaseError::deadline_exceeded);
  EXPECT_FALSE(is_sent_inline(12000)) << "the client has not answered in time";
  respond(xid, {1, 1, 0, 0});
  EXPECT_EQ(exchange->characteristics().peer.receive_buffer_size, 8192u) << "a late answer is accepted";
  EXPECT_FALSE(is_sent_inline(12000));
  EXPECT_TRUE(is_sent_inline(8000));
}

// The server uses larger receives as soon as the client has answered the request for them, even if the answer is late.
TEST_F(AskedClient, MayAnswerLate) {
  const std::uint32_t xid = ask(32768);
  await_end();
  EXPECT_FALSE(is_sent_inline(20000));
  respond(xid, {1, 1, 0, 0});
  EXPECT_TRUE(is_sent_inline(20000));
  EXPECT_EQ(exchange->characteristics().refused, 0u);
}

// [xchar-3.1-d] The client has answered that the server's request for smaller receives is pending. The server then
// wants to request still smaller receives. This second request times out before it is sent, because replies that the
// server planned earlier have not been posted. The limit of the pending request stays in force.
TEST_F(AskedClient, KeepsTheLimitThatIsPending) {
  respond(ask(12288), {0, 0, 1, 1});
  await_end();
  prove_arrival();
  EXPECT_FALSE(is_sent_inline(14000));
  EXPECT_TRUE(is_sent_inline(12000));
  stall();
  plan_replies();
  const std::uint64_t sent = exchange->characteristics().requests_sent;
  ask(8192);
  await_end();
  EXPECT_EQ(failed, BaseError::deadline_exceeded);
  EXPECT_EQ(exchange->characteristics().requests_sent, sent) << "a planned reply has not been posted";
  sides.network.resume();
  EXPECT_TRUE(sides.wait([&] { return peer.messages.size() == 3; })) << "all three calls are answered";
  peer.messages.clear();
  EXPECT_FALSE(is_sent_inline(14000));
  peer.send(option(61, kUpdate, {1, 4, 12288, 1}));
  peer.send(option(62, kUpdate, {1, 4, 16384, 0}));
  run_ready(sides.context);
  EXPECT_TRUE(is_sent_inline(14000));
}

// [xchar-3.1-d] The client has answered that the server's request for smaller receives is pending. The server then
// wants to request larger receives, twice. Both requests time out: the first one is sent and not answered, the second
// one is not sent. The limit of the pending request stays in force.
TEST_F(AskedClient, KeepsTheLimitThatIsPendingBehindLaterRequests) {
  respond(ask(8192), {0, 0, 1, 1});
  await_end();
  prove_arrival();
  EXPECT_FALSE(is_sent_inline(12000));
  for (int i = 0; i < 2; ++i) {
    ask(12288);
    await_end();
    EXPECT_EQ(failed, BaseError::deadline_exceeded);
    EXPECT_FALSE(is_sent_inline(12000)) << i;
    EXPECT_TRUE(is_sent_inline(8000)) << i;
  }
  peer.send(option(61, kUpdate, {1, 4, 8192, 1}));
  peer.send(option(62, kUpdate, {1, 4, 16384, 0}));
  run_ready(sides.context);
  EXPECT_TRUE(is_sent_inline(12000));
}

/// A client that asks the server to change the size of the server's receives. The server waits an hour for the answers
/// to its own requests: these tests are not about that time limit.
class AskingClient : public AskedClient {
 protected:
  explicit AskingClient(const SidesOptions& options = patient()) : AskedClient(options) {}
  static SidesOptions patient() {
    SidesOptions options = impatient();
    options.server.connection.characteristics.request_timeout = std::chrono::hours(1);
    return options;
  }
  /// Makes calls, each of which consumes a receive, until the server sends an option of `type`. Returns the XID of the
  /// option, and keeps its bytes in `last`.
  std::uint32_t call_until(std::uint32_t type) {
    for (int i = 0; i < 1000; ++i) {
      peer.send(words({9, 2, 8, 0, 0, 0, 0, 0, 9, 0, 1, 0, 0, 0}));
      EXPECT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
      run_ready(sides.context);
      const auto messages = std::exchange(peer.messages, {});
      for (const RawPeer::Message& one : messages) {
        if (decoded(one).option_type != type) continue;
        last = one.octets;
        return decoded(one).xid;
      }
    }
    ADD_FAILURE() << "no option " << type;
    return 0;
  }
  /// Requests receives of `size` bytes from the server; returns the words of the response.
  std::string asked_for(std::uint32_t size) {
    EXPECT_EQ(answers(option(70, kRequest, {1, 1, 4, size})), one("option 3 of 70"));
    return to_hex(content());
  }
  /// Returns the content of the optional message in `last`. The content follows a header of 28 bytes.
  Octets content() const { return Octets(last).subspan(28); }
};

constexpr std::string_view kPending = "00000000000000000000000100000001", kDone = "00000001000000010000000000000000";

// [xchar-4.4-c] The client requests receives of 8192 bytes and then of 16384 bytes. It takes back the second request by
// requesting 8192 bytes again. All this happens before the server sends the update for the first request. This update
// clears the pending request. Later the server enlarges its receives by itself, and that update clears no request.
TEST_F(AskingClient, TakesARequestBackBehindAnUnsentUpdate) {
  EXPECT_EQ(asked_for(8192), kPending);
  // `first` is the XID of a request that the server sends. The server sends its update only after the client has
  // answered that request.
  const std::uint32_t first = call_until(kRequest);
  EXPECT_EQ(asked_for(16384), kPending);
  EXPECT_EQ(asked_for(8192), kDone);
  EXPECT_EQ(answers(option(first, kResponse, {0, 0, 0}, 1)).size(), 1u);
  EXPECT_EQ(to_hex(content()), "00000001000000040000200000000001") << "8192 bytes, cleared";
  ask_own_side(16384);
  respond(call_until(kRequest), {0, 0, 0});
  EXPECT_EQ(answers().size(), 1u);
  EXPECT_EQ(to_hex(content()), "00000001000000040000400000000000") << "16384 bytes, nothing cleared";
}

/// The server has little memory for receives, and checks often whether that memory is short.
class ClientOfASmallServer : public AskingClient {
 protected:
  ClientOfASmallServer() : AskingClient(small()) {}
  static SidesOptions small() {
    SidesOptions options = patient();
    options.server_memory.max_octets = 16u << 20;
    options.server.idle_grace = std::chrono::milliseconds(20);
    return options;
  }
  void call(transport::Client& from) {
    ShapedCall one(sides.client_pool, from.requester(), {});
    from.requester().submit(one);
    ASSERT_TRUE(sides.wait([&] { return one.times_done != 0; }));
    EXPECT_FALSE(one.status) << one.status.message();
  }
  /// Connects so many clients that their receives use more than half of the server's memory for receives.
  void use_memory() {
    for (int i = 0; i < 18; ++i) {
      others.push_back(
          transport::Client::make(*sides.client_fabric, sides.client_pool, sides.endpoint, two().client, {}));
      call(*others.back());
    }
  }
  std::uint32_t await(std::uint32_t type) {
    EXPECT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    const RawPeer::Message message = peer.take();
    last = message.octets;
    EXPECT_EQ(decoded(message).option_type, type);
    return decoded(message).xid;
  }
  void TearDown() override {
    others.clear();
    AskingClient::TearDown();
  }
  std::vector<std::unique_ptr<transport::Client>> others;
};

// [xchar-6.2-a] The server offers smaller receives by an experimental characteristic in UPD_XCHAR. This client treats
// the message as malformed and answers with an error. The server then keeps the connection and does not send the
// characteristic to this client again.
TEST_F(ClientOfASmallServer, MayRefuseItsExperiment) {
  EXPECT_EQ(asked_for(16384), kPending);
  EXPECT_EQ(answers(option(call_until(kRequest), kResponse, {0, 0, 0}, 1)).size(), 1u);
  EXPECT_EQ(to_hex(content()), "00000001000000040000400000000001") << "16384 bytes, cleared";
  use_memory();
  respond(await(kRequest), {0, 0, 0});
  const std::uint32_t xid = await(kUpdate);
  EXPECT_EQ(to_hex(content()), "ffffff010000000c72706372646d61310000100000000000")
      << "an offer of receives of 4096 bytes";
  peer.send(words({xid, 2, 8, 4, 2}));
  // Another client requests larger receives. When the server checks its memory again, it sends the characteristic to
  // that client, and nothing to the client that has refused the characteristic.
  transport::CharacteristicsExchange& other = others.front()->exchange();
  other.async_request({.receive_buffer_size = 8192}, [](error_code why, ChangeOutcome of) {
    EXPECT_FALSE(why);
    EXPECT_EQ(of.receive_buffer_size, transport::Disposition::pending);
  });
  for (int i = 0; i < 100 && other.characteristics().updates_received == 0; ++i) call(*others.front());
  EXPECT_TRUE(sides.wait([&] { return other.characteristics().shrunk_pressed == 1; }));
  EXPECT_TRUE(peer.messages.empty());
  expect_alive();
}

}  // namespace
}  // namespace rpcrdma::test
