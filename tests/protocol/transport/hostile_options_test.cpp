// SPDX-License-Identifier: BSD-3-Clause
// Optional messages of version two that break the rules, or that come late or not at all, sent to a server and to a
// client. The tests check the answers, whether the connection stays, and that no memory is held afterwards.
#include <gtest/gtest.h>

#include "hostile_client.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::test {
namespace {

using transport::ChangeOutcome;
using transport::Disposition;
using transport::ExchangeState;
using transport::TransportError;
using transport::VersionChoice;

/// Returns UPD_XCHAR with this implementation's experimental characteristic: an offer of smaller receives.
Bytes smaller_receives(std::uint32_t size) {
  return option(22, kUpdate, {0xffffff01, 12, 0x72706372, 0x646d6131, size, 0});
}

/// Returns UPD_XCHAR messages with the code of smaller_receives() and a value that is not an offer of smaller receives:
/// it has another length, begins with another name, or is empty.
std::vector<Bytes> other_experiments() {
  return {option(22, kUpdate, {0xffffff01, 4, 8192, 0}), option(22, kUpdate, {0xffffff01, 12, 0, 0, 8192, 0}),
          option(22, kUpdate, {0xffffff01, 16, 0x72706372, 0x646d6131, 8192, 0, 0}),
          option(22, kUpdate, {0xffffff01, 0, 0})};
}

// [v2-3.1-a] [xchar-4-a] unknown option types
TEST_F(HostileClient, UnknownTypes) {
  begin();
  for (const std::uint32_t type : {0u, 5u, 77u, 0xffffffffu})
    EXPECT_EQ(answers(option(8, type, {})), one("error 3 of 8"));
  expect_alive();
}

// [xchar-2.1-a] [xchar-2.1-b] [xchar-2.1-c] options with malformed content, and one with an invalid direction
TEST_F(HostileClient, MalformedOptions) {
  begin();
  for (const std::uint32_t type : {kInit, kRequest, kUpdate}) {
    EXPECT_EQ(answers(option(8, type, {})), one("error 2 of 8"));
    EXPECT_EQ(answers(option(8, type, {1, 1, 0xffffffff, 4096, 0})), one("error 2 of 8")) << "a length of 4 GiB";
    EXPECT_EQ(answers(option(8, type, {1000000, 1, 4, 4096, 0})), one("error 2 of 8")) << "a count of a million";
  }
  EXPECT_EQ(answers(option(8, kRequest, {1, 1, 3, 4096})), one("error 2 of 8")) << "too short";
  EXPECT_EQ(answers(option(8, kRequest, {1, 2, 4, 2})), one("error 2 of 8")) << "a boolean of 2";
  EXPECT_EQ(answers(option(8, kUpdate, {3, 4, 4, 0})), one("error 2 of 8")) << "a level of 4";
  EXPECT_EQ(answers(option(8, kUpdate, {1, 4, 8192, 2})), one("error 2 of 8")) << "a boolean of 2";
  EXPECT_EQ(answers(words({8, 2, 8, 5, 0, kInit, 4000})), one("error 2 of 8")) << "content beyond the message";
  EXPECT_EQ(answers(words({8, 2, 8, 5, 2, kInit, 0})), one("error 2 of 8")) << "an invalid direction";
  expect_alive();
}

// [8166-4.2.4-d] [v2-4.2.2-a] A client sends an RDMA_NOMSG that matches no reverse call. In version two, the header
// says whether the message is a call or a reply, and the server does not answer a reply. In version one, the header
// does not say this.
TEST_F(HostileClient, LongRepliesToNoCall) {
  begin();
  EXPECT_EQ(answers(words({8, 2, 8, 1, 1, 0, 0, 1, 1, 20, 100, 0, 0})), std::vector<std::string>{});
  EXPECT_EQ(answers(words({8, 2, 8, 1, 0, 0, 0, 1, 1, 20, 100, 0, 0})), one("error 2 of 8")) << "a call";
  expect_alive();
}

// [v2-5-a] The server has sent INIT_XCHAR, which may occupy the only receive that the client has posted for reverse
// calls. Therefore the server makes no reverse call until the next message of the client shows that INIT_XCHAR has been
// received.
TEST_F(HostileClient, ReverseCallsWaitForTheMessageAfterInit) {
  std::shared_ptr<transport::ReverseRequester> reverse;
  sides.handler.intercept = [&](transport::IncomingCall& call) {
    reverse = call.reverse();
    return false;
  };
  begin();
  ASSERT_TRUE(reverse);
  reverse->allow();
  ShapedCall early(sides.server_pool, *reverse, {});
  reverse->submit(early);
  EXPECT_EQ(answers(), std::vector<std::string>{});
  reverse->cancel(early);
  run_ready(sides.context);
  EXPECT_EQ(early.times_done, 1);
  expect_alive();
  ShapedCall call(sides.server_pool, *reverse, {});
  reverse->submit(call);
  EXPECT_EQ(answers(), one("message of " + std::to_string(call.xid)));
  reverse->cancel(call);
  run_ready(sides.context);
  EXPECT_EQ(call.times_done, 1);
  reverse.reset();
}

// Requests as many characteristics with unknown ids as a message of 4096 bytes can hold.
TEST_F(HostileClient, ManyCharacteristics) {
  begin();
  constexpr std::uint32_t kCount = (4096 - 8 * 4) / 8;
  Bytes message = words({8, 2, 8, 5, 0, kRequest, 4 + kCount * 8, kCount});
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const Bytes value = words({0xffffff00u + i % 256, 0});
    message.insert(message.end(), value.begin(), value.end());
  }
  ASSERT_EQ(message.size(), 4096u);
  EXPECT_EQ(answers(message), one("option 3 of 8"));
  // [xchar-2.1-d] [xchar-4.3-c] all are rejected
  wire::v2::ResponseOption response;
  wire::Header header;
  ASSERT_TRUE(wire::decode(last, header, {.highest_version = wire::kVersionTwo}));
  ASSERT_TRUE(wire::v2::decode(header.option, response));
  for (std::uint32_t i = 0; i < kCount; ++i) EXPECT_TRUE(response.rejected.contains(i));
  EXPECT_FALSE(response.rejected.contains(kCount));
  EXPECT_TRUE(response.done.empty() && response.pending.empty());
  expect_alive();
}

// [xchar-4.1-d] The server ignores the unknown characteristics in an INIT_XCHAR. It accepts an INIT_XCHAR that comes
// after the first calls. It answers a second INIT_XCHAR with an error, and continues to serve the client.
TEST_F(HostileClient, InitTwiceAndLate) {
  begin();
  for (int i = 0; i < 3; ++i) expect_alive();
  EXPECT_EQ(answers(option(20, kInit, {3, 0xffffff00, 4, 1, 77, 0, 1, 4, 8192, 0})), std::vector<std::string>{});
  EXPECT_EQ(answers(option(21, kInit, {1, 1, 4, 16384, 0})), one("error 2 of 21"));
  expect_alive();
}

// A response without a request is dropped; an update without a request is accepted.
TEST_F(HostileClient, AnswersWithoutAQuestion) {
  begin();
  EXPECT_EQ(answers(option(20, kInit, {0, 0})), std::vector<std::string>{});
  EXPECT_EQ(answers(option(21, kResponse, {1, 1, 0, 0}, 1)), std::vector<std::string>{});
  EXPECT_EQ(answers(option(22, kResponse, {}, 1)), std::vector<std::string>{});
  EXPECT_EQ(answers(option(23, kUpdate, {1, 4, 8192, 1})), std::vector<std::string>{});
  EXPECT_EQ(answers(option(24, kUpdate, {1, 4, 0, 1})), std::vector<std::string>{})
      << "below the minimum of version two";
  EXPECT_EQ(answers(option(25, kUpdate, {0xffffff00, 0, 0})), std::vector<std::string>{});
  EXPECT_EQ(answers(words({last_init, 2, 8, 4, 2})), std::vector<std::string>{}) << "a late refusal of INIT_XCHAR";
  expect_alive();
}

// A client offers to make its receives smaller. The server cannot tell whether they would then suffice for its replies,
// so it does not request smaller receives.
TEST_F(HostileClient, OffersOfSmallerReceives) {
  begin();
  EXPECT_EQ(answers(option(20, kInit, {0, 0})), std::vector<std::string>{});
  EXPECT_EQ(answers(option(21, kUpdate, {1, 4, 65536, 0})), std::vector<std::string>{});
  for (const std::uint32_t size : {0u, 4096u, 65536u, 65537u, 0xffffffffu})
    EXPECT_EQ(answers(smaller_receives(size)), std::vector<std::string>{});
  expect_alive();
}

// [xchar-6.2-a] [xchar-2.1-d] Another implementation may use characteristic 0xffffff01, with which this project offers
// smaller receives, for another purpose.
TEST_F(HostileClient, OtherExperimentsWithTheSameCode) {
  begin();
  EXPECT_EQ(answers(option(20, kInit, {1, 0xffffff01, 4, 7, 0})), std::vector<std::string>{});
  for (const Bytes& other : other_experiments()) EXPECT_EQ(answers(other), std::vector<std::string>{});
  EXPECT_EQ(answers(option(23, kRequest, {1, 0xffffff01, 12, 0x72706372, 0x646d6131, 4096})), one("option 3 of 23"));
  EXPECT_EQ(to_hex(Octets(last).subspan(28)), "00000000000000010000000100000000") << "rejected";
  expect_alive();
}

// A client sends many requests and updates. The server answers each request. But if the client sends more messages at
// once than the server has posted receives, the connection may end before all requests are answered.
TEST_F(HostileClient, Floods) {
  begin();
  for (std::uint32_t round = 0; round < 200; ++round) {
    for (std::uint32_t i = 0; i < 4; ++i) peer.send(option(100 + i, kRequest, {1, 1, 4, i % 2 == 0 ? 65536u : 4096u}));
    EXPECT_EQ(answers().size(), 4u) << round;
    if (HasFailure()) break;
  }
  for (std::uint32_t i = 0; i < 2000; ++i) {
    peer.send(option(100, kUpdate, {1, 4, 4096 + i, 0}));
    if (i % 4 != 3) continue;
    EXPECT_TRUE(answers().empty());
  }
  expect_alive();
  for (std::uint32_t i = 0; i < 200; ++i) peer.send(option(100, kRequest, {0}));
  const std::size_t answered = answers().size();
  EXPECT_TRUE(peer.ended() || answered == 200u) << answered;
}

/// A client that permits only one outstanding RDMA Read and, after stall(), does not answer it. The server's answers to
/// later messages of the client then wait for this Read.
class HostileClientThatStalls : public HostileClient {
 protected:
  HostileClientThatStalls() : HostileClient(logged(), 1) {}
  static SidesOptions logged() {
    SidesOptions options = two();
    options.server_log = Log(lines = std::make_shared<LogLines>());
    return options;
  }
  static inline std::shared_ptr<LogLines> lines;
};

// A client sends requests or invalid updates, and stalls, so that the server's answers wait. The server ends the
// connection when more answers would wait than the server has receives. A client that obeys its credits cannot have
// that many messages outstanding.
TEST_F(HostileClientThatStalls, FloodsOfWhatIsAnswered) {
  for (const Bytes& message : {option(100, kRequest, {0}), option(100, kUpdate, {1, 4, 8192, 2})}) {
    begin();
    stall();
    int sent = 0;
    for (; sent < 1000 && !peer.ended(); ++sent) {
      peer.send(message);
      run_ready(sides.context);
    }
    EXPECT_TRUE(peer.ended());
    EXPECT_LT(sent, 200);
    EXPECT_TRUE(peer.messages.empty());
    EXPECT_EQ(lines->with("faster than it accepts the answers").size(), 1u) << lines->all();
    EXPECT_EQ(lines->with("connection aborted").size(), 1u) << lines->all();
    sides.network.resume();
    run_ready(sides.context);
    EXPECT_EQ(sides.server->counters().bulk_in_use, 0u);
    lines->clear();
    connect();
  }
}

// A valid update needs no answer, so it holds no memory while the client stalls.
TEST_F(HostileClientThatStalls, FloodsOfUpdates) {
  begin();
  EXPECT_EQ(answers(option(20, kInit, {0, 0})), std::vector<std::string>{});
  stall();
  const std::size_t lent = sides.server_pool.counters().lent;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    peer.send(option(100, kUpdate, {1, 4, 4096 + 4 * i, 0}));
    run_ready(sides.context);
  }
  EXPECT_FALSE(peer.ended());
  EXPECT_EQ(sides.server_pool.counters().lent, lent);
  sides.network.resume();
  answers();
  expect_alive();
}
// Sends every proper prefix of every vector to the server. If the connection ends, the test makes a new one.
TEST_F(HostileClient, TruncatedVectors) {
  for (const auto& [name, vector] : load_vectors("v2.hex")) {
    SCOPED_TRACE(name);
    for (std::size_t cut = 0; cut < vector.size(); ++cut) {
      if (peer.ended()) connect();
      answers(Bytes(vector.begin(), vector.begin() + static_cast<std::ptrdiff_t>(cut)));
    }
  }
  if (peer.ended()) connect();
  expect_alive();
}

// Calls of both versions on one connection: each reply has the version of its call, and the exchange goes on.
TEST_F(HostileClient, BothVersions) {
  EXPECT_EQ(answers(words({5, 1, 8, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0})), one("message of 5"));
  begin();
  EXPECT_EQ(answers(option(20, kInit, {1, 1, 4, 8192, 0})), std::vector<std::string>{});
  EXPECT_EQ(answers(words({6, 1, 8, 0, 0, 0, 0, 6, 0, 1, 0, 0, 0})), one("message of 6"));
  EXPECT_EQ(to_hex(Octets(last).first(8)), "0000000600000001");
  EXPECT_EQ(answers(words({8, 1, 8, 5, 0, kRequest, 4, 0})), one("error 2 of 8")) << "version one has no options";
  EXPECT_EQ(answers(option(21, kRequest, {1, 1, 4, 8192})), one("option 3 of 21"));
  EXPECT_EQ(to_hex(Octets(last).subspan(16, 4)), "00000001") << "[v2-4.2.2-d] a reply";
  expect_alive();
}

/// A hand-made server of version two, and a client that is connected to it.
class HostileServer : public testing::Test {
 protected:
  explicit HostileServer(bool adaptive = false)
      : sides(two()), fabric(sides.network.make_fabric("raw")), peer(*fabric) {
    peer.receive_size = 65536;  // large, because a test may announce any smaller size
    transport::ClientOptions options = two().client;
    options.connection.characteristics.adaptive = adaptive;
    client = transport::Client::make(*sides.client_fabric, sides.client_pool, peer.listen(), options, {});
  }
  /// The client makes a call, and the server replies.
  void call(std::uint32_t credits = 8) {
    ShapedCall one(sides.client_pool, client->requester(), {});
    client->requester().submit(one);
    ASSERT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    const std::uint32_t xid = decoded(peer.take()).xid;
    peer.send(words({xid, 2, credits, 0, 1, 0, 0, 0, xid, 1, 1}));
    ASSERT_TRUE(sides.wait([&] { return one.times_done != 0; }));
    EXPECT_FALSE(one.status) << one.status.message();
    run_ready(sides.context);
  }
  /// Lets both sides announce their characteristics.
  void begin() {
    call();
    ASSERT_EQ(peer.messages.size(), 1u);
    EXPECT_EQ(decoded(peer.take()).option_type, kInit);
    peer.send(option(1, kInit, {1, 1, 4, 16384, 0}));
    run_ready(sides.context);
    EXPECT_EQ(client->exchange().characteristics().state, ExchangeState::active);
  }
  /// The client makes a call with a body of `size` bytes; returns whether the call has no chunks.
  bool sends_inline(std::uint32_t size) {
    Shape shape;
    shape.call_body = size;
    ShapedCall one(sides.client_pool, client->requester(), shape);
    client->requester().submit(one);
    EXPECT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    const wire::Header header = decoded(peer.take());
    peer.send(words({header.xid, 2, 8, 0, 1, 0, 0, 0, header.xid, 1, 1}));
    EXPECT_TRUE(sides.wait([&] { return one.times_done != 0; }));
    return header.chunks.empty();
  }
  /// The client requests receives of `size` bytes; returns the XID of the request.
  std::uint32_t ask(std::uint32_t size) {
    over = false;
    client->exchange().async_request({.receive_buffer_size = size}, [this](error_code why, ChangeOutcome of) {
      over = true;
      failed = why;
      outcome = of;
    });
    EXPECT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    return decoded(peer.take()).xid;
  }
  void answer(const Bytes& message) {
    peer.send(message);
    EXPECT_TRUE(sides.wait([&] { return over; }));
  }
  void TearDown() override {
    client.reset();
    run_ready(sides.context);
    EXPECT_EQ(sides.client_pool.counters().lent, 0u);
  }

  BothSides sides;
  std::unique_ptr<fabric::LoopbackFabric> fabric;
  RawPeer peer;
  std::unique_ptr<transport::Client> client;
  bool over = false;
  error_code failed;
  ChangeOutcome outcome;
};

// [xchar-4.1-e] The server first ignores the client's INIT_XCHAR, then refuses it by an error, and at last sends an
// INIT_XCHAR itself. The client makes calls before and after each of these steps.
TEST_F(HostileServer, WithoutTheExtension) {
  call();
  EXPECT_EQ(client->exchange().characteristics().state, ExchangeState::announced);
  const std::uint32_t xid = decoded(peer.take()).xid;
  for (int i = 0; i < 4; ++i) call();
  peer.send(words({xid, 2, 8, 4, 3}));
  run_ready(sides.context);
  EXPECT_EQ(client->exchange().characteristics().state, ExchangeState::refused);
  call();
  peer.send(option(1, kInit, {0, 0}));
  run_ready(sides.context);
  EXPECT_EQ(client->exchange().characteristics().state, ExchangeState::active);
  const auto dropped = client->exchange().characteristics().refused;
  peer.send(words({xid, 2, 8, 4, 3}));
  run_ready(sides.context);
  EXPECT_EQ(client->exchange().characteristics().state, ExchangeState::active) << "the same refusal again";
  EXPECT_EQ(client->exchange().characteristics().refused, dropped);
  call();
}

// INIT_XCHAR, which begins an exchange [v2-4.2.2-e], requests as many credits as the client's calls do
TEST_F(HostileServer, SeesTheCreditsThatTheClientAsksFor) {
  transport::ClientOptions options = two().client;
  options.connection.credits = 5;
  client = transport::Client::make(*sides.client_fabric, sides.client_pool, peer.listen(), options, {});
  call();
  ASSERT_EQ(peer.messages.size(), 1u);
  const wire::Header init = decoded(peer.take());
  EXPECT_EQ(init.option_type, kInit);
  EXPECT_EQ(init.credits, 5u);
}

// [xchar-3.1-a] The server requests larger receives before the client has sent its INIT_XCHAR. The client must announce
// the size of the receives that it has posted, and not the requested size.
TEST_F(HostileServer, ARequestBeforeTheFirstReply) {
  ShapedCall one(sides.client_pool, client->requester(), {});
  client->requester().submit(one);
  ASSERT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
  const std::uint32_t xid = decoded(peer.take()).xid;
  peer.send(option(1, kInit, {1, 1, 4, 16384, 0}));
  peer.send(option(2, kRequest, {2, 1, 4, 65536, 2, 4, 0}));
  peer.send(words({xid, 2, 8, 0, 1, 0, 0, 0, xid, 1, 1}));
  ASSERT_TRUE(sides.wait([&] { return one.times_done != 0; }));
  run_ready(sides.context);
  const transport::Characteristics now = client->exchange().characteristics();
  EXPECT_EQ(now.state, ExchangeState::active);
  EXPECT_EQ(now.own.receive_buffer_size, 4096u);
  EXPECT_FALSE(now.own.requester_remote_invalidation) << "the second change was done and announced";
}

// [xchar-4.1-e] a client that uses one credit sends no INIT_XCHAR, although the server grants more credits
TEST_F(HostileServer, OneCreditWithoutTheExtension) {
  transport::ClientOptions options = two().client;
  options.connection.credits = 1;
  client = transport::Client::make(*sides.client_fabric, sides.client_pool, peer.listen(), options, {});
  for (int i = 0; i < 3; ++i) call(8);
  EXPECT_EQ(client->exchange().characteristics().state, ExchangeState::negotiating);
}

// [xchar-4.3-c] A response must assign each requested change to exactly one of the sets done, rejected and pending. The
// bad responses of this test assign a change to two sets or to none, name a change that was not requested, or are
// truncated. After a bad response to a request for larger receives, the client still limits its messages to the old
// size. After a bad response to a request for smaller receives, it limits them to the smaller size.
TEST_F(HostileServer, ContradictoryResponses) {
  begin();
  using Sets = std::initializer_list<std::uint32_t>;
  for (const Sets& sets :
       {Sets{1, 1, 1, 1, 0}, Sets{1, 1, 0, 1, 1}, Sets{0, 0, 0}, Sets{1, 3, 0, 0}, Sets{0}, Sets{}}) {
    answer(option(ask(32768), kResponse, sets, 1));
    EXPECT_EQ(failed, TransportError::bad_reply);
    EXPECT_EQ(client->exchange().characteristics().peer.receive_buffer_size, 16384u);
  }
  EXPECT_TRUE(sends_inline(15000));
  EXPECT_FALSE(sends_inline(20000));
  answer(option(ask(8192), kResponse, {1, 1, 0, 1, 1}, 1));
  EXPECT_EQ(failed, TransportError::bad_reply);
  EXPECT_TRUE(sends_inline(8000));
  EXPECT_FALSE(sends_inline(12000));
  answer(option(ask(32768), kResponse, {0, 1, 1, 0}, 1));
  EXPECT_EQ(outcome.receive_buffer_size, Disposition::rejected);
  EXPECT_FALSE(sends_inline(12000)) << "the smaller size may be in effect";
  answer(option(ask(16384), kResponse, {1, 1, 0, 0}, 1));
  EXPECT_EQ(outcome.receive_buffer_size, Disposition::done);
  EXPECT_TRUE(sends_inline(15000));
}

// A response with the XID of another request is dropped; the response with the right XID is accepted.
TEST_F(HostileServer, ResponsesToOtherRequests) {
  begin();
  const std::uint32_t xid = ask(32768);
  peer.send(option(xid + 1, kResponse, {1, 1, 0, 0}, 1));
  run_ready(sides.context);
  EXPECT_FALSE(over);
  answer(option(xid, kResponse, {1, 1, 0, 0}, 1));
  EXPECT_EQ(outcome.receive_buffer_size, Disposition::done);
  EXPECT_EQ(client->exchange().characteristics().peer.receive_buffer_size, 32768u);
}

// [xchar-3-b] [xchar-4-b] the peer knows INIT_XCHAR but not REQ_XCHAR: all requested changes count as rejected
TEST_F(HostileServer, WithoutRequests) {
  begin();
  answer(words({ask(32768), 2, 8, 4, 3}));
  EXPECT_FALSE(failed);
  EXPECT_EQ(outcome.receive_buffer_size, Disposition::rejected);
  call();
}

/// A server that does not answer requests in time. The client has a short time limit for answers.
class SilentServer : public HostileServer {
 protected:
  SilentServer() {
    transport::ClientOptions options = two().client;
    options.connection.characteristics.adaptive = false;
    options.connection.characteristics.request_timeout = std::chrono::milliseconds(20);
    options.connection.credits = 3;
    client = transport::Client::make(*sides.client_fabric, sides.client_pool, peer.listen(), options, {});
  }
  void await_end(error_code expected) {
    EXPECT_TRUE(sides.wait([&] { return over; }));
    EXPECT_EQ(failed, expected) << failed.message();
  }
  /// Replies to more calls than the client has credits. The replies show the client that the server has received the
  /// request, which the client sent before these calls.
  void prove_arrival() {
    for (int i = 0; i < 4; ++i) call();
    EXPECT_EQ(client->exchange().characteristics().refused, 0u);
  }
};

// A request without an answer times out. The client sends the next request when the server has shown that it received
// the first one.
TEST_F(SilentServer, DoesNotBlockRequests) {
  begin();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    ask(32768);
    await_end(BaseError::deadline_exceeded);
    EXPECT_EQ(client->exchange().characteristics().unanswered, round);
    // The client does not send this request before its time limit. The server has not shown yet that it received the
    // first request, so it may have no free receive for a second one.
    over = false;
    client->exchange().async_request({.receive_buffer_size = 32768}, [this](error_code why, ChangeOutcome of) {
      over = true;
      failed = why;
      outcome = of;
    });
    await_end(BaseError::deadline_exceeded);
    EXPECT_TRUE(peer.messages.empty());
    EXPECT_EQ(client->exchange().characteristics().unanswered, round);
    prove_arrival();
  }
  // The client repeats its request, and is answered each time, until an answer has taken effect. On a slow machine an
  // answer may arrive later than request_timeout, which is 20 ms.
  for (int i = 0; i < 1000 && client->exchange().characteristics().peer.receive_buffer_size != 32768; ++i) {
    peer.send(option(ask(32768), kResponse, {1, 1, 0, 0}, 1));
    EXPECT_TRUE(sides.wait([&] { return over; }));
    for (int n = 0; n < 4; ++n) call();
  }
  EXPECT_EQ(client->exchange().characteristics().peer.receive_buffer_size, 32768u);
  EXPECT_EQ(client->exchange().characteristics().requests_sent, client->exchange().characteristics().unanswered + 1);
}

// An answer after the time limit is accepted.
TEST_F(SilentServer, MayAnswerLate) {
  begin();
  const std::uint32_t xid = ask(32768);
  await_end(BaseError::deadline_exceeded);
  peer.send(option(xid, kResponse, {1, 1, 0, 0}, 1));
  EXPECT_TRUE(sides.wait([&] { return client->exchange().characteristics().peer.receive_buffer_size == 32768; }));
  EXPECT_EQ(client->exchange().characteristics().refused, 0u);
}

// The server rejects a request that has already timed out at the client. The late rejection does not end the second
// request of the client, but permits the client to send it. The second request then receives its own answer.
TEST_F(SilentServer, MayRejectLate) {
  begin();
  bool sent = false;
  // In each round a request times out, the client makes a second request, and the server then rejects the first one.
  // The rejection permits the client to send the second request. On a slow machine the second request may time out
  // before it is sent. The test then starts another round.
  for (int i = 0; i < 1000 && !sent; ++i) {
    const std::uint32_t xid = ask(32768);
    await_end(BaseError::deadline_exceeded);
    over = false;
    client->exchange().async_request({.receive_buffer_size = 24576}, [this](error_code why, ChangeOutcome of) {
      over = true;
      failed = why;
      outcome = of;
    });
    peer.send(option(xid, kResponse, {0, 1, 1, 0}, 1));
    ASSERT_TRUE(sides.wait([&] { return over || !peer.messages.empty(); }));
    sent = !peer.messages.empty();
    ASSERT_TRUE(sent || failed == BaseError::deadline_exceeded) << "the late answer has ended it: " << failed.message();
  }
  const std::uint32_t xid = decoded(peer.take()).xid;
  peer.send(option(xid, kResponse, {1, 1, 0, 0}, 1));
  EXPECT_TRUE(sides.wait([&] { return client->exchange().characteristics().peer.receive_buffer_size == 24576; }));
  EXPECT_TRUE(sends_inline(20000));
  EXPECT_FALSE(sends_inline(30000));
  EXPECT_EQ(client->exchange().characteristics().refused, 0u);
}

// [xchar-3.1-d] [xchar-3.2-a] The client requests a smaller Receive Buffer Size and gets no answer. The server may have
// changed the size. The client therefore limits its Sends to the smaller size, even after the server has rejected a
// later request.
TEST_F(SilentServer, IsSentNoMoreThanItMayHaveLoweredTo) {
  begin();
  EXPECT_TRUE(sends_inline(12000));
  ask(4096);
  await_end(BaseError::deadline_exceeded);
  prove_arrival();
  EXPECT_FALSE(sends_inline(12000));
  for (int i = 0; i < 1000; ++i) {
    peer.send(option(ask(32768), kResponse, {0, 1, 1, 0}, 1));
    EXPECT_TRUE(sides.wait([&] { return over; }));
    for (int n = 0; n < 4; ++n) call();
    if (!failed) break;
  }
  EXPECT_EQ(outcome.receive_buffer_size, Disposition::rejected);
  EXPECT_FALSE(sends_inline(12000)) << "the server may have executed the first request";
}

// [xchar-3.1-d] While a request for a smaller size is pending, it limits the Sends of the client. The limit ends when
// an update of the server clears the request. It also ends when the server announces the smaller size and later a
// larger size, even if no update clears the request.
TEST_F(HostileServer, PendingUntilCleared) {
  begin();
  const auto update = [this](std::uint32_t size, std::uint32_t cleared) {
    peer.send(option(2, kUpdate, {1, 4, size, cleared}));
    run_ready(sides.context);
    EXPECT_EQ(client->exchange().characteristics().peer.receive_buffer_size, size);
  };
  EXPECT_TRUE(sends_inline(15000));
  for (const std::uint32_t cleared : {1u, 0u}) {
    answer(option(ask(8192), kResponse, {0, 0, 1, 1}, 1));
    EXPECT_EQ(outcome.receive_buffer_size, Disposition::pending);
    EXPECT_FALSE(sends_inline(12000));
    EXPECT_TRUE(sends_inline(8000));
    update(12544, 0);
    EXPECT_FALSE(sends_inline(12000)) << "not cleared";
    if (cleared == 0) {
      update(8192, 0);
      EXPECT_FALSE(sends_inline(12000));
    }
    update(16384, cleared);
    EXPECT_TRUE(sends_inline(15000));
  }
}

class HostileServerOfAnAdaptiveClient : public HostileServer {
 protected:
  HostileServerOfAnAdaptiveClient() : HostileServer(true) {}
};

// A server offers to make its receives smaller. If the receives have grown, the client requests their first size,
// whatever smaller size the server offers.
TEST_F(HostileServerOfAnAdaptiveClient, OffersOfSmallerReceives) {
  begin();
  const auto offer = [this](std::uint32_t size) {
    peer.send(smaller_receives(size));
    run_ready(sides.context);
  };
  for (const std::uint32_t size : {0u, 8192u, 0xffffffffu}) offer(size);
  EXPECT_TRUE(peer.messages.empty()) << "the receives have the first size";
  peer.send(option(2, kUpdate, {1, 4, 65536, 0}));
  run_ready(sides.context);
  for (const std::uint32_t size : {0u, 65536u, 65537u, 0xffffffffu}) offer(size);
  EXPECT_TRUE(peer.messages.empty()) << "these are not smaller";
  for (const Bytes& other : other_experiments()) peer.send(other);
  run_ready(sides.context);
  EXPECT_TRUE(peer.messages.empty()) << "[xchar-6.2-a] [xchar-2.1-d] neither an offer nor an error";
  for (const std::uint32_t size : {1u, 16384u}) {
    offer(size);
    ASSERT_EQ(peer.messages.size(), 1u);
    const wire::Header asked = decoded(peer.take());
    EXPECT_EQ(asked.option_type, kRequest);
    EXPECT_EQ(client->exchange().characteristics().shrunk_pressed, size == 1 ? 1u : 2u);
    peer.send(option(asked.xid, kResponse, {0, 1, 1, 0}, 1));
    run_ready(sides.context);
  }
  peer.messages.clear();
  call();
}

// Sends every proper prefix of every vector to the client. If the connection ends, the next call makes a new one.
TEST_F(HostileServer, TruncatedVectors) {
  call();
  for (const auto& [name, vector] : load_vectors("v2.hex")) {
    SCOPED_TRACE(name);
    for (std::size_t cut = 0; cut < vector.size() && !HasFailure(); ++cut) {
      peer.messages.clear();
      if (!peer.connected()) call();
      peer.send(Bytes(vector.begin(), vector.begin() + static_cast<std::ptrdiff_t>(cut)));
      run_ready(sides.context);
    }
  }
  peer.messages.clear();
  call();
}

// A client answers optional messages although it serves no reverse calls.
TEST_F(HostileServer, OptionsAtAPlainClient) {
  begin();
  for (const auto& [message, expected] : std::vector<std::pair<Bytes, std::string>>{
           {option(30, 77, {}), "error 3 of 30"},
           {option(31, kRequest, {9}), "error 2 of 31"},
           {option(32, kInit, {0, 0}), "error 2 of 32"},
           {option(33, kRequest, {0}), "option 3 of 33"},
       }) {
    peer.send(message);
    ASSERT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    EXPECT_EQ(text_of(peer.take()), expected);
  }
  call();
}

}  // namespace
}  // namespace rpcrdma::test
