// SPDX-License-Identifier: BSD-3-Clause
// Typed calls from a server to its client.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <thread>

#include "bed.hpp"
#include "rpcrdma/rpc/reverse_handlers.hpp"
#include "rpcrdma/rpc/tcp_requester.hpp"
#include "rpcrdma/rpc/tcp_server.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;
using transport::TransportError;

class TypedReverse : public testing::Test {
 protected:
  TypedReverse() {
    bed.emplace();
    handlers.emplace(*bed->connection, rpc::ReverseHandlersOptions{.announce = [this] {
      ++connections;
      subscribe();
    }});
    handlers->on<Count>([this](rpc::ServerCall<Count> call) {
      ++served;
      if (hold)
        held.push_back(std::move(call));
      else
        call.reply({call.args().add + 1});
    });
    handlers->on<Two>([](rpc::ServerCall<Two> call) -> asio::awaitable<void> {
      const std::vector<std::byte> data(call.args().first, std::byte{7});
      TwoResult result{};
      result.first.set_octets(data);
      result.behind.set("end");
      asio::steady_timer timer(call.context(), std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
      call.reply(result);
    });
    bed->dispatcher.on<Nothing>([this](rpc::ServerCall<Nothing> call) {
      back = call.reverse_client();
      call.reply({});
    });
    subscribe();
    EXPECT_TRUE(bed->wait([this] { return connections == 1 && back.operator bool(); }));
  }
  ~TypedReverse() override {
    held.clear();
    back = {};
    bed->client.reset();
    bed->connection.reset();
    handlers.reset();
  }
  void subscribe() {
    bed->client->async_call<Nothing>({}, [](error_code, const rpc::Decoded<rpc::Void>&) {});
  }
  /// Makes one COUNT call. The returned number is -1 until the call completes, then the total, or 0 if the call failed.
  std::shared_ptr<int> count(std::uint32_t add, const rpc::CallOptions& options = {}) {
    auto out = std::make_shared<int>(-1);
    CountArgs args{};
    args.add = add;
    back.call<Count>(args, options, [this, out](error_code status, const rpc::Decoded<CountResult>& result) {
      last = status;
      *out = status ? 0 : static_cast<int>(result->total);
    });
    return out;
  }
  bool over(const std::shared_ptr<int>& call) {
    return bed->wait([&] { return *call != -1; });
  }

  std::optional<Bed> bed;
  std::optional<rpc::ReverseHandlers> handlers;
  rpc::ReverseClient back;
  std::vector<rpc::ServerCall<Count>> held;
  bool hold = false;
  int connections = 0;
  int served = 0;
  error_code last;
};

TEST_F(TypedReverse, CallbacksAndCoroutines) {
  const auto call = count(41);
  ASSERT_TRUE(over(call));
  EXPECT_EQ(*call, 42);
  bed->run([](rpc::ReverseClient client) -> asio::awaitable<void> {
    const auto result = co_await client.call<Two>({100, 0, FALSE}, asio::use_awaitable);
    EXPECT_EQ(result->first.octet_span().size(), 100u);
    EXPECT_EQ(result->first.octet_span()[99], std::byte{7});
    EXPECT_EQ(result->behind.view(), "end");
    // Without a completion token, call() returns a deferred operation. Calling this operation starts the RPC.
    const auto deferred = co_await client.call<Count>({})(asio::use_awaitable);
    EXPECT_EQ(deferred->total, 1u);
    auto [status, nothing] = co_await client.call<Join>({}, kTuple);
    EXPECT_EQ(status, rpc::RpcError::procedure_unavailable);
  }(back));
  EXPECT_EQ(handlers->dispatcher().counters().calls, 4u);
}

// [8167-5.3-a] [8167-5.3-c] long messages are refused before anything is sent
TEST_F(TypedReverse, LongMessagesAreRefused) {
  const auto memory = std::move(*bed->server_pool.allocate(8192));
  const BufferRef part = memory.ref();
  bed->run([](rpc::ReverseClient client, BufferRef large) -> asio::awaitable<void> {
    CountArgs args{};
    const std::string ballast(8000, 'b');
    args.ballast.set(ballast);
    auto [too_long, r1] = co_await client.call<Count>(args, kTuple);
    EXPECT_EQ(too_long, TransportError::call_too_long);
    JoinArgs join{};
    join.first.set_parts({&large, 1});
    auto [item, r2] = co_await client.call<Join>(join, kTuple);
    EXPECT_EQ(item, TransportError::call_too_long);
    auto [reply, r3] = co_await client.call<Two>({8000, 0, FALSE}, kTuple);
    EXPECT_EQ(reply, TransportError::reply_too_long);
    auto [into, r4] = co_await client.call<Two>({100, 0, FALSE}, rpc::CallOptions().into({&large, 1}), kTuple);
    EXPECT_EQ(into, BaseError::invalid_argument);
  }(back, part));
  EXPECT_EQ(handlers->dispatcher().counters().calls, 0u);
}

// [xchar-3.3-c] with version two, a client with handlers accepts long calls and sends long replies. With version one,
// the server cannot learn whether the client supports them.
TEST(TypedReverseOfVersionTwo, LongMessages) {
  for (const transport::VersionChoice server_version :
       {transport::VersionChoice::automatic, transport::VersionChoice::one}) {
    const bool two = server_version == transport::VersionChoice::automatic;
    transport::ClientOptions client_options = Bed::quick();
    transport::ServerOptions server_options;
    client_options.connection.version = transport::VersionChoice::automatic;
    server_options.connection.version = server_version;
    Bed bed(client_options, server_options);
    std::optional<rpc::ReverseHandlers> handlers(std::in_place, *bed.connection);
    std::string got;
    handlers->on<Count>([&got](rpc::ServerCall<Count> call) {
      got = call.args().ballast.view();
      call.reply({call.args().add + 1});
    });
    const std::vector<std::byte> data(20000, std::byte{7});
    handlers->on<Two>([&data](rpc::ServerCall<Two> call) {
      TwoResult result{};
      result.first.set_octets(Octets(data).first(call.args().first));
      result.behind.set("end");
      call.reply(result);
    });
    rpc::ReverseClient back;
    bed.dispatcher.on<Nothing>([&back](rpc::ServerCall<Nothing> call) {
      back = call.reverse_client();
      call.reply({});
    });
    bed.run([](rpc::Client& client, rpc::ReverseClient& to_client, bool chunks,
               std::string& heard) -> asio::awaitable<void> {
      // Makes two calls, because the client's characteristics reach the server before the second one. With version two
      // they tell the server that the client accepts long calls.
      for (int i = 0; i < 2; ++i) co_await client.async_call<Nothing>({}, asio::use_awaitable);
      CountArgs args{};
      const std::string ballast(8000, 'b');
      args.ballast.set(ballast);
      auto [long_call, counted] = co_await to_client.call<Count>(args, kTuple);
      EXPECT_EQ(long_call, chunks ? error_code() : make_error_code(TransportError::call_too_long));
      auto [long_reply, result] = co_await to_client.call<Two>({20000, 0, FALSE}, kTuple);
      EXPECT_EQ(long_reply, chunks ? error_code() : make_error_code(TransportError::reply_too_long));
      if (!chunks) co_return;
      EXPECT_EQ(counted->total, 1u);
      EXPECT_EQ(heard, ballast);
      EXPECT_EQ(result->first.octet_span().size(), 20000u);
      EXPECT_EQ(result->first.octet_span()[19999], std::byte{7});
      EXPECT_EQ(result->behind.view(), "end");
    }(*bed.client, back, two, got));
    back = {};
    bed.client.reset();
    bed.connection.reset();
    handlers.reset();
  }
}

// [8167-5.4-a] [8167-5.4-b] the handle of a lost connection makes no more calls; the next connection has a handle of
// its own
TEST_F(TypedReverse, TheHandleOutlivesItsConnection) {
  hold = true;
  rpc::ReverseClient first = back;
  const auto lost = count(1);
  ASSERT_TRUE(bed->wait([this] { return held.size() == 1; }));
  EXPECT_TRUE(first.alive());
  bed->network.drop_connection_after(0);
  subscribe();
  ASSERT_TRUE(bed->wait([&] { return connections == 2 && back.alive() && !first.alive(); }));
  ASSERT_TRUE(over(lost));
  EXPECT_EQ(last, TransportError::connection_lost);
  held[0].reply({1});  // dropped: its connection is lost
  hold = false;
  const auto next = count(2);
  ASSERT_TRUE(over(next));
  EXPECT_EQ(*next, 3);
  back = std::move(first);
  const auto dead = count(3);
  EXPECT_EQ(*dead, -1);
  ASSERT_TRUE(over(dead));
  EXPECT_EQ(last, TransportError::connection_lost);
}

TEST_F(TypedReverse, TheLastHandleIsDestroyedInACompletion) {
  hold = true;
  bool over = false;
  back.call<Count>({}, [&](error_code status, const rpc::Decoded<CountResult>&) {
    EXPECT_EQ(status, TransportError::connection_lost);
    over = true;
  });
  back.call<Count>({}, [](error_code, const rpc::Decoded<CountResult>&) {});
  back = {};
  ASSERT_TRUE(bed->wait([this] { return !held.empty(); }));
  bed->server.reset();
  ASSERT_TRUE(bed->wait([&] { return over; }));
}

TEST_F(TypedReverse, DeadlinesAndLimits) {
  hold = true;
  rpc::CallOptions soon;
  soon.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const auto late = count(1, soon);
  ASSERT_TRUE(over(late));
  EXPECT_EQ(last, BaseError::deadline_exceeded);
  ASSERT_TRUE(bed->wait([this] { return held.size() == 1; }));
  std::vector<std::shared_ptr<int>> calls;
  for (std::uint32_t i = 0; i < 1100; ++i) calls.push_back(count(i));
  ASSERT_TRUE(over(calls.back()));
  EXPECT_EQ(last, BaseError::out_of_memory);
  hold = false;
  held.clear();
  ASSERT_TRUE(over(calls[1023]));
  EXPECT_EQ(*calls[1023], 1024);
}

TEST_F(TypedReverse, Cancellation) {
  hold = true;
  asio::cancellation_signal signal;
  std::optional<error_code> outcome;
  back.call<Count>({}, asio::bind_cancellation_slot(signal.slot(), [&](error_code status, auto) { outcome = status; }));
  ASSERT_TRUE(bed->wait([this] { return held.size() == 1; }));
  signal.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(bed->wait([&] { return outcome.has_value(); }));
  EXPECT_EQ(*outcome, BaseError::cancelled);
}

// Other threads make calls, copy and destroy handles, and cancel calls.
TEST_F(TypedReverse, FromOtherThreads) {
  std::atomic<int> good{0};
  std::atomic<int> running{3};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, client = back]() mutable {
      for (u_int i = 0; i < 200; ++i) {
        const rpc::ReverseClient copy = client;
        CountArgs args{};
        args.add = i;
        auto reply = copy.call<Count>(args, asio::use_future);
        good += reply.get()->total == i + 1 ? 1 : 0;
      }
      asio::io_context own;
      asio::cancellation_signal signal;
      client.call<Count>(
          {}, asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(own, [&](error_code status, auto) {
                                             good += !status || status == BaseError::cancelled ? 1 : 0;
                                           })));
      signal.emit(asio::cancellation_type::terminal);
      own.run();  // returns when the call has completed
      client = {};
      --running;
    });
  }
  EXPECT_TRUE(bed->wait([&] { return running == 0; }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 3 * 201);
}

// A call held by a reverse handler may outlive the client and its handlers.
TEST_F(TypedReverse, CallsOutliveTheHandlers) {
  hold = true;
  const auto lost = count(1);
  ASSERT_TRUE(bed->wait([this] { return held.size() == 1; }));
  bed->client.reset();
  bed->connection.reset();
  handlers.reset();
  ASSERT_TRUE(over(lost));
  run_ready(bed->context);
  EXPECT_EQ(held[0].args().add, 1u);
  held[0].reply({2});
  run_ready(bed->context);
}

TEST(TypedReverseOverTcp, IsDisabled) {
  Bed bed;
  rpc::Dispatcher dispatcher;
  std::optional<error_code> outcome;
  dispatcher.on<Nothing>([&](rpc::ServerCall<Nothing> call) {
    const rpc::ReverseClient back = call.reverse_client();
    EXPECT_FALSE(back.alive());
    back.call<Count>({}, [&](error_code status, const rpc::Decoded<CountResult>&) { outcome = status; });
    call.reply({});
  });
  const auto server = rpc::TcpServer::make(bed.context, bed.server_pool, dispatcher, {}, {});
  const auto at = server->listen({asio::ip::make_address("127.0.0.1"), 0});
  ASSERT_TRUE(at);
  const auto requester = rpc::TcpRequester::make(bed.context, *at, {});
  rpc::Client client(*requester, bed.context.get_executor());
  bool done = false;
  client.async_call<Nothing>({}, [&](error_code, const rpc::Decoded<rpc::Void>&) { done = true; });
  EXPECT_TRUE(bed.wait([&] { return done && outcome; }));
  EXPECT_EQ(*outcome, TransportError::reverse_disabled);
}

}  // namespace
}  // namespace rpcrdma::test
