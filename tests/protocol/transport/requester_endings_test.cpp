// SPDX-License-Identifier: BSD-3-Clause
// What may end or delay a call: lost connections, deadlines, cancellation, unfinished transfers, destruction of the
// client. Also the settings of each connection.
#include <algorithm>

#include "requester_fixture.hpp"

namespace rpcrdma::test {
namespace {

// [8166-4.5.4-a] if an invalidation fails, the connection ends before the call completes
TEST_F(RequesterTest, FailedInvalidationEndsTheConnection) {
  for (const auto operation : {fabric::LoopbackOperation::invalidate, fabric::LoopbackOperation::completion}) {
    start();
    Shape shape;
    shape.items = {9000};
    ShapedCall& call = submit(shape);
    bool connected = true;
    call.on_done = [&] { connected = client->connected(); };
    const auto message = next_call();
    run_ready(context);
    // The client's next two completions are the receive of the reply and the invalidation.
    client_fabric->fail_nth(operation, operation == fabric::LoopbackOperation::completion ? 2 : 1);
    send(reply_to(message.header), small_reply(call.xid));
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    EXPECT_FALSE(connected);
    EXPECT_TRUE(run_until(context, [&] { return peer.ended(); }));
    EXPECT_FALSE(call.status) << call.status.message();
    EXPECT_EQ(call.complaint, "");
    EXPECT_EQ(client_fabric->bound_windows(), 0u);
    client.reset();
  }
}

// The fabric reports more bytes than the receive has: the connection ends.
TEST_F(RequesterTest, ALengthBeyondTheReceiveEndsTheConnection) {
  start();
  ShapedCall& call = submit();
  const auto first = next_call();
  client_fabric->overstate_next_message(4096);
  send(reply_to(first.header), small_reply(call.xid));
  const auto again = next_call();
  EXPECT_EQ(call.times_done, 0);
  EXPECT_EQ(again.header.xid, first.header.xid);
  EXPECT_EQ(peer.connections(), 2);
  answer(again.header);
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_FALSE(call.status) << call.status.message();
}

// [8166-3.4.5.1-a] [8166-4.4.1-c] calls are retransmitted in order, with the same XIDs and new handles
TEST_F(RequesterTest, LostConnection) {
  start();
  answer((submit(), next_call()).header);
  Shape shape;
  shape.items = {9000};
  std::vector<ShapedCall*> sent;
  for (int i = 0; i < 5; ++i) sent.push_back(&submit(shape));
  std::vector<std::uint32_t> xids, handles;
  for (int i = 0; i < 5; ++i) {
    const auto message = next_call();
    xids.push_back(message.header.xid);
    handles.push_back(message.header.chunks.reads.at(0).target.handle);
  }
  peer.abort();
  for (int i = 0; i < 5; ++i) {
    const auto message = next_call();
    EXPECT_EQ(message.header.xid, xids[static_cast<std::size_t>(i)]);
    EXPECT_EQ(std::count(handles.begin(), handles.end(), message.header.chunks.reads.at(0).target.handle), 0);
    Bytes data;
    peer.read(message.header.chunks.reads.at(0).target, data);
    run_ready(context);
    EXPECT_TRUE(peer.read_ended());
    EXPECT_TRUE(has_pattern(data, 2));
    answer(message.header);
  }
  EXPECT_EQ(peer.connections(), 2);
  for (ShapedCall* call : sent) {
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(call->times_encoded, 2);
    EXPECT_FALSE(call->status);
  }
  EXPECT_EQ(client->requester().counters().resent, 5u);
  EXPECT_EQ(client->requester().counters().reconnects, 1u);
}

// [8166-4.4.1-c] [8166-8.1.3-c] A cancelled call completes after its windows have been invalidated, so that the peer
// can no longer access its memory. The credit of the call is not free until the reply arrives.
TEST_F(RequesterTest, Cancel) {
  start();
  Shape shape;
  shape.results = {9000};
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  ShapedCall& waiting = submit(shape);
  client->requester().cancel(waiting);
  client->requester().cancel(call);
  EXPECT_EQ(call.times_done, 0);  // done() does not run within cancel()
  EXPECT_EQ(waiting.times_done, 0);
  std::size_t bound = 99;
  call.on_done = [&] { bound = client_fabric->bound_windows(); };
  run_ready(context);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_EQ(call.status, BaseError::cancelled);
  EXPECT_EQ(waiting.status, BaseError::cancelled);
  EXPECT_EQ(bound, 0u);
  client->requester().cancel(call);  // cancels a call that has completed
  ShapedCall& next = submit();
  EXPECT_TRUE(peer.messages.empty());  // the cancelled call still holds the only credit
  // The late reply releases the credit of the cancelled call, and again grants one credit. So `next` can be sent.
  wire::Header late = reply_to(message.header, 1);
  send(late, words({call.xid, 1, 1, 9000}));
  EXPECT_EQ(call.times_done, 1);
  answer(next_call().header);
  EXPECT_EQ(next.times_done, 1);
  EXPECT_FALSE(next.status);
}

// [8166-4.4.1-b] a cancelled call holds no memory of the pool while its reply is missing
TEST_F(RequesterTest, CancelReleasesMemoryBeforeTheReply) {
  start();
  answer((submit(), next_call()).header);
  Shape shape;
  shape.reply_body = 9000;
  ShapedCall call(pool, client->requester(), shape);
  const auto lent = pool.counters().lent;
  client->requester().submit(call);
  const auto message = next_call();
  ASSERT_TRUE(message.header.chunks.has_reply_chunk());
  EXPECT_GT(pool.counters().lent, lent);
  client->requester().cancel(call);
  run_ready(context);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_EQ(pool.counters().lent, lent);
  answer(message.header);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_EQ(pool.counters().lent, lent);
}

// The fabric of this test has no late invalidation: a side must not invalidate a window while the peer may still
// invalidate it. If the client cancels a call with such a window, it therefore ends the connection. The next call makes
// a new connection.
TEST_F(RequesterTest, CancelWhereALateInvalidationDoesHarm) {
  fabric::Capabilities capabilities = fabric::LoopbackNetwork::default_capabilities();
  capabilities.late_invalidation = false;
  const auto careful = network.make_fabric("careful", capabilities);
  memory::Pool careful_pool(*careful);
  const auto r = wire::encode(wire::PrivateData{true, 4096, 4096});
  peer.private_data.assign(r.begin(), r.end());
  transport::ClientOptions options;
  options.first_backoff = options.last_backoff = std::chrono::milliseconds(1);
  options.grace = std::chrono::hours(1);  // the cancellation below must end the connection before this time passes
  client = transport::Client::make(*careful, careful_pool, peer.listen(), options, {});
  Shape shape;
  shape.results = {9000};
  ShapedCall call(careful_pool, client->requester(), shape);
  std::size_t bound = 99;
  call.on_done = [&] { bound = careful->bound_windows(); };
  client->requester().submit(call);
  next_call();
  EXPECT_GT(careful->bound_windows(), 0u);
  const int before = peer.connections();
  client->requester().cancel(call);
  EXPECT_EQ(call.times_done, 0);  // done() does not run within cancel()
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_EQ(call.status, BaseError::cancelled);
  EXPECT_EQ(bound, 0u);
  ShapedCall next(careful_pool, client->requester(), {});
  client->requester().submit(next);
  answer(next_call().header);
  EXPECT_EQ(next.times_done, 1);
  EXPECT_FALSE(next.status);
  EXPECT_EQ(peer.connections() - before, 1);
  client.reset();
}

// In done(), calls are submitted and cancelled while other calls complete.
TEST_F(RequesterTest, SubmittingAndCancellingInsideDone) {
  start();
  answer((submit(), next_call()).header, 4);
  std::vector<ShapedCall*> first, then;
  for (int i = 0; i < 2; ++i) first.push_back(&submit());
  for (int i = 0; i < 2; ++i) next_call();
  first[0]->on_done = [&] {
    for (int i = 0; i < 2; ++i) {
      calls.push_back(std::make_unique<ShapedCall>(pool, client->requester(), Shape{}));
      then.push_back(calls.back().get());
      client->requester().submit(*calls.back());
    }
    client->requester().cancel(*then[0]);
  };
  for (ShapedCall* call : first) client->requester().cancel(*call);
  ASSERT_TRUE(run_until(context, [&] { return first[0]->times_done + first[1]->times_done == 2; }));
  ASSERT_EQ(then.size(), 2u);
  next_call();
  answer(next_call().header, 4);
  run_ready(context);
  for (ShapedCall* call : first) EXPECT_EQ(call->status, BaseError::cancelled);
  EXPECT_EQ(then[0]->times_done, 1);
  EXPECT_EQ(then[0]->status, BaseError::cancelled);
  EXPECT_EQ(then[1]->times_done, 1);
  EXPECT_FALSE(then[1]->status);
}

TEST_F(RequesterTest, Deadlines) {
  start();
  answer((submit(), next_call()).header, 2);
  Shape shape;
  shape.results = {9000};
  std::vector<std::unique_ptr<ShapedCall>> mine;
  // The deadlines are close together, so that all calls time out before the client would reconnect and retransmit some
  // of them.
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  for (int i = 0; i < 4; ++i) {
    mine.push_back(std::make_unique<ShapedCall>(pool, client->requester(), shape));
    mine.back()->deadline = soon + std::chrono::milliseconds(i % 2);
    client->requester().submit(*mine.back());
  }
  ASSERT_TRUE(run_until(context, [&] {
    return std::all_of(mine.begin(), mine.end(), [](const auto& call) { return call->times_done == 1; });
  }));
  for (const auto& call : mine) EXPECT_EQ(call->status, BaseError::deadline_exceeded);
  EXPECT_EQ(client_fabric->bound_windows(), 0u);
  // The calls in `mine` were not answered and use all credits, so the next call needs a new connection.
  peer.messages.clear();
  ShapedCall& next = submit();
  const auto message = next_call();
  EXPECT_EQ(message.header.xid, next.xid);
  EXPECT_EQ(peer.connections(), 2);
  answer(message.header);
  EXPECT_EQ(next.times_done, 1);
}

// [8166-4.4.1-a] a server never finishes an RDMA Read: the connection ends after the grace period
TEST_F(RequesterTest, ATransferThatNeverEnds) {
  for (const bool cancelled : {true, false}) {
    SCOPED_TRACE(cancelled);
    transport::ClientOptions options;
    options.silence = std::chrono::hours(1);
    options.grace = std::chrono::milliseconds(20);
    start(options);
    answer((submit(), next_call()).header, 32);
    const int before = peer.connections();
    Shape shape;
    shape.items = {9000};
    ShapedCall call(pool, client->requester(), shape);
    if (!cancelled) call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    std::size_t bound = 99;
    call.on_done = [&] { bound = client_fabric->bound_windows(); };
    client->requester().submit(call);
    const auto message = next_call();
    network.pause(fabric::LoopbackPause::half_placed);
    Bytes data;
    peer.read(message.header.chunks.reads.at(0).target, data);
    run_ready(context);
    if (cancelled) client->requester().cancel(call);
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    EXPECT_EQ(call.status, cancelled ? BaseError::cancelled : BaseError::deadline_exceeded);
    EXPECT_EQ(bound, 0u);
    network.resume();
    ShapedCall& next = submit();
    answer(next_call().header);
    EXPECT_EQ(next.times_done, 1);
    EXPECT_EQ(peer.connections() - before, 1);
    client.reset();
  }
}

// The server answers a call although its RDMA Read of the arguments has not ended, and the Read never ends. The client
// waits for the Read until the grace period after the deadline of the call is over. Then the client ends the
// connection, and the call completes with the reply.
TEST_F(RequesterTest, ATransferThatNeverEndsThoughItWasAnswered) {
  transport::ClientOptions options;
  options.silence = std::chrono::hours(1);
  options.grace = std::chrono::milliseconds(20);
  start(options);
  Shape shape;
  shape.items = {9000};
  ShapedCall call(pool, client->requester(), shape);
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  client->requester().submit(call);
  const auto message = next_call();
  network.pause(fabric::LoopbackPause::half_placed);
  Bytes data;
  peer.read(message.header.chunks.reads.at(0).target, data);
  answer(message.header);
  EXPECT_EQ(call.times_done, 0);
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_FALSE(call.status) << call.status.message();
  EXPECT_EQ(client_fabric->bound_windows(), 0u);
}

// [8166-4.4.1-a] [8166-4.4.1-b] The server invalidates a handle by its reply while its own RDMA Read still uses this
// handle. The client cancels the call. The call does not complete until the Read Response has been sent.
TEST_F(RequesterTest, InvalidatedWhileItIsRead) {
  transport::ClientOptions options;
  options.grace = std::chrono::hours(1);
  start(options);
  Shape shape;
  shape.items = {9000};
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  const Segment segment = message.header.chunks.reads.at(0).target;
  network.pause(fabric::LoopbackPause::half_placed);
  Bytes data;
  peer.read(segment, data);
  send(reply_to(message.header), small_reply(call.xid), segment.handle);
  client->requester().cancel(call);
  run_ready(context);
  EXPECT_EQ(call.times_done, 0);
  EXPECT_FALSE(peer.read_ended());
  network.resume();
  run_ready(context);
  EXPECT_TRUE(peer.read_ended());
  EXPECT_TRUE(has_pattern(data, 2));
  EXPECT_EQ(call.times_done, 1);
  EXPECT_EQ(call.status, BaseError::cancelled);
}

// [8166-4.4.1-b] A long call is cancelled while the server reads it: its memory is not reused before the Read has
// ended.
TEST_F(RequesterTest, ALongCallIsWholeWhileItIsRead) {
  transport::ClientOptions options;
  options.grace = std::chrono::hours(1);
  start(options);
  answer((submit(), next_call()).header, 8);
  Shape shape;
  shape.seed = 5;
  shape.call_body = 8000;
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  network.pause(fabric::LoopbackPause::half_placed);
  Bytes data;
  peer.read(message.header.chunks.reads.at(0).target, data);
  run_ready(context);
  client->requester().cancel(call);
  shape.seed = 6;
  // These calls need memory of the same size. They must not get the memory that the server is still reading.
  for (int i = 0; i < 4; ++i) submit(shape);
  EXPECT_EQ(call.times_done, 0);
  network.resume();
  run_ready(context);
  EXPECT_TRUE(peer.read_ended());
  EXPECT_EQ(Reader(data).u32(), call.xid);
  EXPECT_TRUE(has_pattern(Octets(data).subspan(24), 5));
  EXPECT_EQ(call.status, BaseError::cancelled);
}

// A call times out while another call is in progress. If the server has been silent for ClientOptions::silence, the
// requester retransmits the other call on a new connection. Otherwise the connection stays.
TEST_F(RequesterTest, SilentServer) {
  for (const bool silent : {true, false}) {
    transport::ClientOptions options;
    options.silence = silent ? std::chrono::milliseconds(1) : std::chrono::hours(1);
    start(options);
    answer((submit(), next_call()).header, 32);
    const int before = peer.connections();
    ShapedCall& patient = submit();
    ShapedCall call(pool, client->requester(), {});
    call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    client->requester().submit(call);
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    EXPECT_EQ(call.status, BaseError::deadline_exceeded);
    next_call();
    next_call();
    if (silent) {
      EXPECT_EQ(next_call().header.xid, patient.xid);
    }
    run_ready(context);
    EXPECT_EQ(peer.connections() - before, silent ? 1 : 0);
    client.reset();
    EXPECT_EQ(patient.times_done, 1);
  }
}

// A cancelled call holds the only credit, because the server does not answer it. Another call, which has no deadline,
// waits for this credit. After a while the requester sends the waiting call on a new connection.
TEST_F(RequesterTest, ACancelledCallDoesNotHoldTheOnlyCreditForEver) {
  transport::ClientOptions options;
  options.silence = std::chrono::milliseconds(20);
  start(options);
  ShapedCall& cancelled = submit();
  next_call();
  const int before = peer.connections();
  client->requester().cancel(cancelled);
  ShapedCall& call = submit();
  ASSERT_TRUE(run_until(context, [&] { return !peer.messages.empty(); }));
  EXPECT_EQ(peer.connections() - before, 1);
  EXPECT_EQ(cancelled.status, BaseError::cancelled);
  answer(next_call().header);
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
}

TEST_F(RequesterTest, UnreachableUntilTheDeadline) {
  start();
  client = transport::Client::make(*client_fabric, pool, {boost::asio::ip::make_address("127.0.0.1"), 9}, {}, {});
  ShapedCall call(pool, client->requester(), {});
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  client->requester().submit(call);
  ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
  EXPECT_EQ(call.status, TransportError::unreachable);
  EXPECT_TRUE(client->last_error());
  EXPECT_FALSE(client->connected());
}

// [8166-4.5.4-c] a call that cannot be sent fails at once and does not affect other calls
TEST_F(RequesterTest, CallsThatCannotBeSent) {
  transport::ClientOptions options;
  options.max_long_call = 100000;
  start(options);
  Shape shape;
  shape.call_body = 200000;
  ShapedCall& too_long = submit(shape);
  ASSERT_TRUE(run_until(context, [&] { return too_long.times_done == 1; }));
  EXPECT_EQ(too_long.status, TransportError::call_too_long);
  ShapedCall& good = submit();
  auto same_xid = std::make_unique<ShapedCall>(pool, client->requester(), Shape{});
  same_xid->xid = good.xid;
  const auto message = next_call();
  answer(message.header);
  ShapedCall& held = submit();
  same_xid->xid = held.xid;
  client->requester().submit(*same_xid);
  run_ready(context);
  EXPECT_EQ(same_xid->status, BaseError::invalid_argument);  // [8167-2.4-a]
  answer(next_call().header);
  EXPECT_FALSE(good.status);
  EXPECT_FALSE(held.status);
}

// [8797-4-b] each connection uses the thresholds that it has negotiated
TEST_F(RequesterTest, OtherSettingsAfterAReconnect) {
  transport::ClientOptions options;
  options.connection.send_size = 8192;
  start(options);
  Shape shape;
  shape.call_body = 3000;
  ShapedCall& call = submit(shape);
  EXPECT_EQ(next_call().header.procedure, wire::Procedure::msg);
  const auto expect_next = [&](const Bytes& private_data, wire::Procedure procedure, std::size_t payload) {
    peer.private_data = private_data;
    peer.abort();
    const auto message = next_call();
    EXPECT_EQ(message.header.xid, call.xid);
    EXPECT_EQ(message.header.procedure, procedure);
    EXPECT_EQ(message.payload.size(), payload);
    return message.header;
  };
  const auto small = wire::encode(wire::PrivateData{true, 4096, 2048});
  const auto large = wire::encode(wire::PrivateData{true, 4096, 4096});
  expect_next({small.begin(), small.end()}, wire::Procedure::nomsg, 0);
  expect_next({large.begin(), large.end()}, wire::Procedure::msg, 3024);
  answer(expect_next({}, wire::Procedure::nomsg, 0));
  EXPECT_FALSE(call.status) << call.status.message();
}

// [8797-5.1-a] [8166-3.3.3-d] [8797-4-d] a peer without private data: thresholds of 1024 bytes, and Send with
// Invalidate is accepted
TEST_F(RequesterTest, PeerWithoutPrivateData) {
  start();
  peer.private_data.clear();
  Shape shape;
  shape.call_body = 2000;
  ShapedCall& call = submit(shape);
  const auto message = next_call();
  EXPECT_EQ(message.header.procedure, wire::Procedure::nomsg);
  // Linux's server uses Send with Invalidate if the client set the R flag, even if the server sends no private data.
  send(reply_to(message.header), small_reply(call.xid), message.header.chunks.reads.at(0).target.handle);
  EXPECT_FALSE(call.status);
}

TEST_F(RequesterTest, DestroyingTheClientEndsAllCalls) {
  start();
  Shape shape;
  shape.items = {9000};
  for (int i = 0; i < 5; ++i) submit(shape);
  next_call();
  client.reset();
  for (const auto& call : calls) {
    EXPECT_EQ(call->times_done, 1);
    EXPECT_EQ(call->status, BaseError::cancelled);
  }
  EXPECT_EQ(client_fabric->bound_windows(), 0u);
}

// done() submits a call while the client is being destroyed. This call completes once, with BaseError::cancelled, after
// the destructor has returned.
TEST_F(RequesterTest, SubmittingInsideDoneWhileTheClientIsDestroyed) {
  for (const bool sent : {true, false}) {
    SCOPED_TRACE(sent);
    start();
    transport::Requester& requester = client->requester();
    ShapedCall call(pool, requester, {});
    requester.submit(call);
    if (sent) next_call();
    int submitted_again = 0;
    call.on_done = [&] {
      if (++submitted_again == 1) requester.submit(call);
    };
    client.reset();
    EXPECT_EQ(call.times_done, 1);
    run_ready(context);
    EXPECT_EQ(call.times_done, 2);
    EXPECT_EQ(call.status, BaseError::cancelled);
    peer.messages.clear();
  }
}

// done() may destroy the client, however the call ended. The other calls complete before the destructor returns.
TEST_F(RequesterTest, DestroyingTheClientInsideDone) {
  enum class End { reply, reply_after_invalidation, cancel, cancel_while_waiting, deadline, loss };
  for (const End how :
       {End::reply, End::reply_after_invalidation, End::cancel, End::cancel_while_waiting, End::deadline, End::loss}) {
    SCOPED_TRACE(static_cast<int>(how));
    transport::ClientOptions options;
    options.grace = std::chrono::milliseconds(10);
    start(options);
    answer((submit(), next_call()).header, 2);
    Shape shape;
    if (how != End::reply) shape.items = {9000};
    ShapedCall call(pool, client->requester(), shape);
    if (how == End::deadline) call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    std::deque<std::unique_ptr<ShapedCall>> others;
    std::size_t over = 0;
    call.on_done = [&] {
      client.reset();
      for (const auto& other : others) over += static_cast<std::size_t>(other->times_done);
    };
    const auto another = [&] {
      others.push_back(std::make_unique<ShapedCall>(pool, client->requester(), Shape{}));
      client->requester().submit(*others.back());
    };
    if (how == End::cancel_while_waiting)
      for (int i = 0; i < 2; ++i) another();  // these two calls use both credits, so that `call` waits for one
    client->requester().submit(call);
    while (others.size() < 4) another();
    wire::Header header;
    while (how != End::cancel_while_waiting && header.xid != call.xid) header = next_call().header;
    if (how == End::reply || how == End::reply_after_invalidation) answer(header, 2);
    if (how == End::loss) {
      // The server's RDMA Read of the argument remains unanswered. The call that is cancelled below cannot end while
      // the Read is in progress, so the client aborts the connection after options.grace. The call then ends.
      network.pause(fabric::LoopbackPause::half_placed);
      Bytes data;
      peer.read(header.chunks.reads.at(0).target, data);
      run_ready(context);
    }
    if (how == End::cancel || how == End::cancel_while_waiting || how == End::loss) client->requester().cancel(call);
    ASSERT_TRUE(run_until(context, [&] { return call.times_done == 1; }));
    run_ready(context);
    EXPECT_EQ(client, nullptr);
    EXPECT_EQ(over, others.size());
    for (const auto& other : others) EXPECT_EQ(other->times_done, 1);
    EXPECT_EQ(client_fabric->bound_windows(), 0u);
    network.resume();
    peer.messages.clear();
    run_ready(context);
  }
}

TEST_F(RequesterTest, CloseWaitsForCalls) {
  start();
  ShapedCall& call = submit();
  const auto message = next_call();
  bool closed = false;
  client->close([&] { closed = true; });
  run_ready(context);
  EXPECT_FALSE(closed);
  answer(message.header);
  ASSERT_TRUE(run_until(context, [&] { return closed; }));
  EXPECT_EQ(call.times_done, 1);
  EXPECT_FALSE(call.status);
  EXPECT_FALSE(client->connected());
}

}  // namespace
}  // namespace rpcrdma::test
