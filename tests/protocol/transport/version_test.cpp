// SPDX-License-Identifier: BSD-3-Clause
// A client and a server negotiate version two (draft-cel-nfsv4-rpcrdma-version-two-01 section 5), over the loopback
// fabric.
#include <gtest/gtest.h>

#include <algorithm>

#include "both_sides.hpp"
#include "raw_peer.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/reverse_service.hpp"

namespace rpcrdma::test {
namespace {

using transport::TransportError;
using transport::VersionChoice;

SidesOptions versions(VersionChoice client, VersionChoice server) {
  SidesOptions options;
  options.client.connection.version = client;
  options.server.connection.version = server;
  // Switches off the exchange of characteristics, so that the traces show only the negotiation.
  options.client.connection.characteristics.exchange = options.server.connection.characteristics.exchange = false;
  return options;
}

void expect_completed(BothSides& sides, const Shape& shape = {}) {
  const auto call = sides.make(shape);
  ASSERT_TRUE(sides.run(*call));
  EXPECT_FALSE(call->status) << call->status.message();
  EXPECT_EQ(call->complaint, "");
  EXPECT_EQ(call->times_done, 1);
  EXPECT_EQ(sides.handler.complaint, "");
  EXPECT_TRUE(sides.wait([&] { return sides.handler.sent == sides.handler.calls; }));
  EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
}

error_code status_of_call(BothSides& sides) {
  const auto call = sides.make({});
  EXPECT_TRUE(sides.run(*call));
  return call->status;
}

std::vector<std::string> trace_of_call(BothSides& sides, const Shape& shape = {}) {
  sides.network.start_trace();
  expect_completed(sides, shape);
  return sides.network.take_trace_text();
}

using Trace = std::vector<std::string>;

// [v2-5.1-a] If both sides support version two, the first call already has this version. A header of version two is 4
// bytes longer than one of version one.
TEST(Version, TwoWhereBothSidesSupportIt) {
  for (const VersionChoice server : {VersionChoice::automatic, VersionChoice::two}) {
    BothSides sides(versions(VersionChoice::automatic, server));
    EXPECT_EQ(trace_of_call(sides), (Trace{"client send 56", "server send 44"}));
    EXPECT_EQ(trace_of_call(sides), (Trace{"client send 56", "server send 44"}));
  }
}

TEST(Version, EveryFormOfCall) {
  std::vector<Shape> shapes(6);
  shapes[1].items = {9001};
  shapes[2].results = {9001};
  shapes[3].reply_body = 9000;
  shapes[4].call_body = 30000;
  shapes[5].items = {101, 8003};
  shapes[5].results = {8001, 33};
  shapes[5].call_body = 6000;
  shapes[5].reply_body = 7000;
  for (const VersionChoice client : {VersionChoice::two, VersionChoice::automatic})
    for (const VersionChoice server : {VersionChoice::automatic, VersionChoice::one}) {
      if (client == VersionChoice::two && server == VersionChoice::one) continue;
      // Makes each form of call twice on a connection, because the first call of a connection differs from later ones:
      // an `automatic` client offers version two with it.
      for (const Shape& shape : shapes) {
        BothSides sides(versions(client, server));
        expect_completed(sides, shape);
        expect_completed(sides, shape);
        EXPECT_EQ(sides.client->requester().counters().reconnects, 0u);
      }
    }
}

// [v2-5.2-a] [v2-5.2-b] the server refuses one call, and the client continues with version one on the same connection
TEST(Version, FallsBackOnTheSameConnection) {
  BothSides sides(versions(VersionChoice::automatic, VersionChoice::one));
  EXPECT_EQ(trace_of_call(sides), (Trace{"client send 56", "server send 28", "client send 52", "server send 40"}));
  EXPECT_EQ(trace_of_call(sides), (Trace{"client send 52", "server send 40"}));
  EXPECT_EQ(sides.client->requester().counters().reconnects, 0u);
  EXPECT_EQ(sides.handler.calls, 2);
}

// [v2-5-a] [v2-5-b] The client offers version two with one call, in a message of at most 1024 bytes, and sends no other
// call before the answer. When the server has refused version two, the client invalidates the memory that this call
// exposes, and then sends the call again.
TEST(Version, TheOfferIsShortAndAlone) {
  BothSides sides(versions(VersionChoice::automatic, VersionChoice::one));
  Shape shape;
  shape.items = {2001};
  std::vector<std::unique_ptr<ShapedCall>> calls;
  sides.network.start_trace();
  for (int i = 0; i < 5; ++i) {
    calls.push_back(sides.make(shape));
    sides.client->requester().submit(*calls.back());
  }
  for (const auto& call : calls) {
    ASSERT_TRUE(sides.wait([&] { return call->times_done != 0; }));
    EXPECT_FALSE(call->status) << call->status.message();
  }
  const Trace trace = sides.network.take_trace_text();
  ASSERT_GE(trace.size(), 3u);
  EXPECT_EQ(trace[0], "client send 84") << "a Read chunk, as 2001 bytes exceed the threshold of version one";
  EXPECT_EQ(trace[1], "server send 28");
  EXPECT_EQ(calls.front()->times_encoded, 2);
  EXPECT_EQ(calls.back()->times_encoded, 1);
  EXPECT_EQ(sides.client->requester().counters().local_invalidations, 1u);
}

// [v2-2.3-a] the first thresholds are 4096 bytes in each direction, even without private data
TEST(Version, Thresholds) {
  SidesOptions options = versions(VersionChoice::automatic, VersionChoice::automatic);
  options.client.connection.private_data = options.server.connection.private_data = false;
  BothSides sides(options);
  Shape shape;
  shape.call_body = 2000;
  shape.reply_body = 2000;
  const Trace offer = trace_of_call(sides, shape);
  ASSERT_GE(offer.size(), 2u);
  EXPECT_NE(offer[1], "server send 2044") << "the offer is a long call";
  EXPECT_EQ(trace_of_call(sides, shape), (Trace{"client send 2056", "server send 2044"}));
  shape.call_body = 4096;
  EXPECT_GT(trace_of_call(sides, shape).size(), 2u);
}

// [8166-4.5-f] a call fails if the version range of the server excludes all versions of the client
TEST(Version, NoCommonVersion) {
  BothSides two(versions(VersionChoice::two, VersionChoice::one));
  EXPECT_EQ(status_of_call(two), TransportError::peer_err_vers);
  BothSides one(versions(VersionChoice::one, VersionChoice::two));
  EXPECT_EQ(status_of_call(one), TransportError::peer_err_vers);
}

// [v2-5.3-a] the server answers each call in the version of that call
TEST(Version, ClientsOfVersionOne) {
  BothSides sides(versions(VersionChoice::one, VersionChoice::automatic));
  EXPECT_EQ(trace_of_call(sides), (Trace{"client send 52", "server send 40"}));
}

// [v2-5.2-c] a server that refused version two receives no further offer until the client forgets the refusal
TEST(Version, IsRememberedForALimitedTime) {
  for (const bool forgets : {false, true}) {
    SidesOptions options = versions(VersionChoice::automatic, VersionChoice::one);
    if (forgets) options.client.version_memory = std::chrono::seconds(0);
    BothSides sides(options);
    expect_completed(sides);
    sides.network.drop_connection_after(1);
    const Trace second = trace_of_call(sides);
    EXPECT_EQ(std::ranges::count(second, "client send 56"), forgets ? 1 : 0);
    EXPECT_EQ(sides.client->requester().counters().reconnects, 1u);
  }
}

// [v2-5.2-d] if the connection is lost before the offer is answered, the client uses version one
TEST(Version, LostOffer) {
  BothSides sides(versions(VersionChoice::automatic, VersionChoice::automatic));
  sides.network.drop_connection_after(1);
  const Trace trace = trace_of_call(sides);
  EXPECT_EQ(std::ranges::count(trace, "client send 56"), 1);
  EXPECT_EQ(trace.back(), "server send 40");
}

// In each round the connection breaks one frame later than in the previous round, so that in some rounds it breaks
// during the negotiation of the version. Each call succeeds nevertheless, and no window or pool memory leaks.
TEST(Version, ConnectionsThatBreakAtEveryFrame) {
  std::vector<Shape> shapes(3);
  shapes[1].items = {9001};
  shapes[2].reply_body = 9000;
  for (const VersionChoice server : {VersionChoice::automatic, VersionChoice::one}) {
    for (std::uint64_t frame = 1; frame < 24; ++frame) {
      SCOPED_TRACE(frame);
      BothSides sides(versions(VersionChoice::automatic, server));
      sides.network.drop_connection_after(frame);
      std::vector<std::unique_ptr<ShapedCall>> calls;
      for (const Shape& shape : shapes) {
        calls.push_back(sides.make(shape));
        sides.client->requester().submit(*calls.back());
      }
      for (const auto& call : calls) {
        ASSERT_TRUE(sides.wait([&] { return call->times_done != 0; }));
        EXPECT_FALSE(call->status) << call->status.message();
        EXPECT_EQ(call->complaint, "");
      }
      ASSERT_TRUE(sides.wait([&] { return sides.server->counters().bulk_in_use == 0; }));
      EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
      calls.clear();
      sides.client.reset();
      sides.server.reset();
      EXPECT_EQ(sides.client_pool.counters().lent, 0u);
      EXPECT_EQ(sides.server_pool.counters().lent, 0u);
    }
  }
}

// A call is cancelled at each step of the negotiation: it ends once, and the next call succeeds.
TEST(Version, CallsThatEndDuringTheFallback) {
  Shape shape;
  shape.items = {9001};
  bool answered_first = false;
  for (int steps = 0; !answered_first; ++steps) {
    SCOPED_TRACE(steps);
    ASSERT_LT(steps, 1000);
    BothSides sides(versions(VersionChoice::automatic, VersionChoice::one));
    const auto call = sides.make(shape);
    sides.client->requester().submit(*call);
    sides.context.restart();
    for (int step = 0; step < steps; ++step) sides.context.run_one();
    answered_first = call->times_done != 0;
    sides.client->requester().cancel(*call);
    ASSERT_TRUE(sides.wait([&] { return call->times_done != 0; }));
    EXPECT_EQ(call->status, answered_first ? error_code() : error_code(BaseError::cancelled)) << call->status.message();
    const auto next = sides.make(shape);
    ASSERT_TRUE(sides.run(*next));
    EXPECT_FALSE(next->status) << next->status.message();
    EXPECT_EQ(next->complaint, "");
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(sides.client_fabric->bound_windows(), 0u);
  }
}

// [v2-3.1-a] [xchar-4-a] a responder refuses an unsupported option with the XID of that option; the connection stays
TEST(Version, OptionsAreRefused) {
  BothSides sides(versions(VersionChoice::one, VersionChoice::automatic));
  const auto fabric = sides.network.make_fabric("raw");
  RawPeer peer(*fabric);
  peer.connect(sides.endpoint);
  ASSERT_TRUE(sides.wait([&] { return peer.connected(); }));
  for (const std::uint32_t type : {1u, 4u, 77u}) {
    peer.send(words({0x1a, 2, 1, 5, 0, type, 0}));
    ASSERT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
    const Bytes answer = peer.take().octets;
    ASSERT_EQ(answer.size(), 20u);
    EXPECT_EQ(to_hex(Octets(answer).first(8)), "0000001a00000002");
    EXPECT_EQ(to_hex(Octets(answer).last(8)), "0000000400000003");
  }
  peer.send(words({0x1b, 2, 1, 5, 0, 77, 9}));  // the length exceeds the message
  ASSERT_TRUE(sides.wait([&] { return !peer.messages.empty(); }));
  EXPECT_EQ(to_hex(Octets(peer.take().octets).last(8)), "0000000400000002");
}

// [v2-4.2.2-c] reverse calls have the version of the connection
TEST(Version, ReverseCalls) {
  for (const VersionChoice server : {VersionChoice::automatic, VersionChoice::one}) {
    BothSides sides(versions(VersionChoice::automatic, server));
    ShapedHandler client_handler;
    const auto service = transport::ReverseService::make(*sides.client, client_handler, 2, {});
    std::shared_ptr<transport::ReverseRequester> reverse;
    sides.handler.intercept = [&](transport::IncomingCall& call) {
      reverse = call.reverse();
      return false;
    };
    expect_completed(sides);
    ASSERT_TRUE(reverse);
    reverse->allow();
    ShapedCall call(sides.server_pool, *reverse, {});
    sides.network.start_trace();
    reverse->submit(call);
    ASSERT_TRUE(sides.wait([&] { return call.times_done != 0; }));
    EXPECT_FALSE(call.status) << call.status.message();
    const bool two = server == VersionChoice::automatic;
    EXPECT_EQ(sides.network.take_trace_text(),
              two ? (Trace{"server send 56", "client send 44"}) : (Trace{"server send 52", "client send 40"}));
    reverse.reset();
    sides.client.reset();
  }
}

}  // namespace
}  // namespace rpcrdma::test
