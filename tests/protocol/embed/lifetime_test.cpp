// SPDX-License-Identifier: BSD-3-Clause
// The end of a client: on its own thread, with calls in progress, and in close(). Also the end of a server that has
// calls over TCP.
#include <malloc.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "bed.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

class Lifetimes : public testing::TestWithParam<const char*> {
 protected:
  Lifetimes() { ::mallopt(M_PERTURB, 0xa5); }  // overwrites freed memory, so that later reads of it fail
  std::string server() const { return bed.at(GetParam()); }
  Bed bed;
};
INSTANTIATE_TEST_SUITE_P(Carriers, Lifetimes, testing::Values("iwarp", "tcp"),
                         [](const auto& carrier) { return std::string(carrier.param); });

/// Reports the end of the thread that constructed it.
struct AtThreadEnd {
  std::promise<void>* ended = nullptr;
  ~AtThreadEnd() {
    if (ended != nullptr) ended->set_value();
  }
};

TEST_P(Lifetimes, EndWithinACompletionHandler) {
  std::promise<void> ended;
  auto client = std::make_shared<Client>(server());
  Client& calls = *client;
  calls.call<hello::Null>({}, [&ended, client = std::move(client)](error_code, const auto&) mutable {
    thread_local AtThreadEnd guard;
    guard.ended = &ended;
    client.reset();
  });
  ended.get_future().get();
}

TEST_P(Lifetimes, EndWithinACompletionHandlerAmongOtherCalls) {
  std::promise<void> ended;
  auto client = std::make_shared<Client>(server());
  Client& calls = *client;
  // Over RDMA, the two calls below can be in progress together only after a reply has granted more than one credit.
  calls.call<hello::Null>({}, asio::use_future).get();
  auto hanging = calls.call<hello::Hang>({}, asio::use_future);
  bed.await_held(1);
  calls.call<hello::Null>({}, [&ended, client = std::move(client)](error_code, const auto&) mutable {
    thread_local AtThreadEnd guard;
    guard.ended = &ended;
    client.reset();
  });
  EXPECT_EQ(error_of(std::move(hanging)), BaseError::cancelled);
  ended.get_future().get();
}

TEST_P(Lifetimes, EndACloseThatWaitsForCalls) {
  asio::io_context context;
  std::optional<Client> client(std::in_place, context, server());
  int closed = 0;
  client->call<hello::Hang>({}, [](error_code, const auto&) {});
  client->close([&] { ++closed; });
  client->close([&] { ++closed; });
  context.poll();
  EXPECT_EQ(closed, 0);
  client.reset();
  context.restart();
  context.run();
  EXPECT_EQ(closed, 2);
}

TEST_P(Lifetimes, EndAfterEachStepOfTheirFirstCall) {
  bool completed = false;
  for (int steps = 0; !completed; ++steps) {
    asio::io_context context;
    std::optional<Client> client(std::in_place, context, server());
    int results = 0;
    client->call<hello::Null>({}, [&](error_code, const auto&) { ++results; });
    for (int step = 0; step < steps && results == 0; ++step) context.run_one();
    completed = results != 0;
    client.reset();
    context.restart();
    context.run();
    EXPECT_EQ(results, 1);
  }
}

// The application destroys its context instead of running it.
TEST_P(Lifetimes, EndTheCallsThatTheirContextNeverRan) {
  auto context = std::make_unique<asio::io_context>();
  std::optional<Client> client(std::in_place, *context, server());
  auto kept = std::make_shared<int>();
  const std::weak_ptr<int> seen = kept;
  auto future = client->call<hello::Null>({}, asio::use_future);
  client->call<hello::Null>({}, [kept = std::move(kept)](error_code, const auto&) {});
  client.reset();
  context.reset();
  ASSERT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(error_of(std::move(future)), BaseError::cancelled);
  EXPECT_TRUE(seen.expired());
}

TEST_P(Lifetimes, EndACloseOfTheConnection) {
  asio::io_context context;
  std::optional<Client> client(std::in_place, context, server());
  int closed = 0;
  client->call<hello::Null>({}, [&](error_code, const auto&) {
    asio::post(context, [&] {
      client->close([&] { ++closed; });
      client.reset();
    });
  });
  context.run();
  EXPECT_EQ(closed, 1);
}

TEST_P(Lifetimes, OfSeveralCloses) {
  Client client(server());
  client.call<hello::Null>({}, asio::use_future).get();
  auto first = client.close(asio::use_future);
  auto second = client.close(asio::use_future);
  first.get();
  second.get();
  client.close(asio::use_future).get();
}

TEST_P(Lifetimes, NothingCompletesWithinItsInitiatingFunction) {
  asio::io_context context;
  std::optional<Client> client(std::in_place, context, server());
  std::vector<std::byte> mine(100);
  int completed = 0, within = 0;
  client->call<hello::Null>({}, [&](error_code, const auto&) {
    asio::post(context, [&] {
      client->allocate(10, [&](error_code, Buffer) { ++completed; });
      client->adopt(mine, [&](error_code, Buffer) { ++completed; });
      within = completed;
      asio::post(context, [&] {
        client->close([&] {
          ++completed;
          client.reset();
        });
        within += completed - 2;
      });
    });
  });
  context.run();
  EXPECT_EQ(completed, 3);
  EXPECT_EQ(within, 0);
}

/// Keeps the submitted call without answering it, and counts how often cancel() runs.
class OneCall final : public transport::Requester {
 public:
  void submit(transport::Call& call) override { kept = &call; }
  void cancel(transport::Call&) override { ++cancels; }
  std::uint32_t next_xid() noexcept override { return 1; }
  Counters counters() const noexcept override { return {}; }
  transport::Call* kept = nullptr;
  int cancels = 0;
};

// Two reverse calls arrive together, and the handler of the first one destroys the client. The reply to an
// earlier reverse call grants credits for both.
TEST(Lifetime, OfAClientEndsItsReverseHandlers) {
  Bed bed;
  asio::io_context context;
  auto client = std::make_unique<Client>(context, bed.at("iwarp"));
  int runs = 0;
  client->on<hello::Changed>([&](u_int value) {
    ++runs;
    if (value != 0) client.reset();
  });
  client->call<hello::Watch>({}, [](error_code, const auto&) {});
  const auto watched = [&bed] {
    const std::lock_guard lock(bed.mutex);
    return !bed.watchers.empty();
  };
  while (!watched()) context.run_one_for(std::chrono::milliseconds(10));
  rpc::ReverseClient back = bed.watchers.front();
  std::atomic<bool> answered = false;
  back.call<hello::Changed>(0, [&answered](error_code, const auto&) { answered = true; });
  while (!answered) context.run_one_for(std::chrono::milliseconds(10));
  for (u_int i = 1; i < 3; ++i) back.call<hello::Changed>(i, [](error_code, const auto&) {});
  // Waits until the server has posted the Sends of both calls, so that the client receives both together below. The
  // server submits a posted Send without delay, and the iwarp fabric then writes it to the socket.
  while (asio::post(back.get_executor(), asio::use_future([&back] { return back.counters().in_flight; })).get() != 2)
    std::this_thread::yield();
  context.restart();
  context.run();
  EXPECT_EQ(runs, 2);
}

/// A client with a handler for reverse calls, and an object that the handler captures.
class CapturesOfAHandler : public testing::Test {
 protected:
  /// Returns a handle for calls to the client, which may be long: the server receives the second call only after the
  /// client has announced that it accepts such calls.
  rpc::ReverseClient watch() {
    for (int i = 0; i < 2; ++i) {
      bool done = false;
      client->call<hello::Watch>({}, [&done](error_code, const auto&) { done = true; });
      run_until([&done] { return done; });
    }
    const std::lock_guard lock(bed.mutex);
    return bed.watchers.front();
  }
  void run_until(const std::function<bool()>& done) {
    while (!done()) context.run_one_for(std::chrono::milliseconds(10));
  }
  Bed bed{2, transport::VersionChoice::automatic};
  asio::io_context context;
  std::unique_ptr<Client> client =
      std::make_unique<Client>(context, bed.at("iwarp"), ClientOptions{.version = transport::VersionChoice::automatic});
  std::shared_ptr<int> captured = std::make_shared<int>();
  const std::weak_ptr<int> seen = captured;
};

// The handler is a coroutine that answers its call, then waits. Its captures live as long as the coroutine, although
// the client ends before.
TEST_F(CapturesOfAHandler, LiveAsLongAsItsCoroutines) {
  asio::steady_timer timer(context, asio::steady_timer::time_point::max());
  client->on<hello::Changed>(
      [&timer, captured = std::move(captured)](ServerCall<hello::Changed> call) -> awaitable<void> {
        call.reply({});
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        EXPECT_NE(captured, nullptr);
      });
  std::atomic<bool> answered = false;
  watch().call<hello::Changed>(0, [&answered](error_code, const auto&) { answered = true; });
  run_until([&answered] { return answered.load(); });
  client.reset();
  context.restart();
  context.poll();
  EXPECT_FALSE(seen.expired());
  timer.cancel();
  context.restart();
  context.run();
  EXPECT_TRUE(seen.expired());
}

// The client ends while a long reply is being sent.
TEST_F(CapturesOfAHandler, AreDestroyedWhenTheClientEndsDuringAReply) {
  const std::vector<std::byte> data(900000);
  client->on<hello::Fetch>([this, &data, captured = std::move(captured)](ServerCall<hello::Fetch> call) {
    fetch_result result{};
    result.data.set_octets(data);
    call.reply(result);
    client.reset();
  });
  watch().call<hello::Fetch>({900000, 0}, [](error_code, const auto&) {});
  run_until([this] { return client == nullptr; });
  context.restart();
  context.run();
  EXPECT_TRUE(seen.expired());
}

// If the server ends, calls over TCP fail with an error of the condition `reconnect`.
TEST(Lifetime, OfAServerEndsCallsOverTcp) {
  auto bed = std::make_unique<Bed>();
  Client client(bed->at("tcp"));
  client.call<hello::Add>(1, asio::use_future).get();
  std::promise<error_code> ended;
  client.call<hello::Hang>({}, [&](error_code failed, const auto&) { ended.set_value(failed); });
  client.call<hello::Add>(1, asio::use_future).get();  // the server has then received HANG, too
  bed.reset();
  const error_code failed = ended.get_future().get();
  EXPECT_EQ(failed, Condition::reconnect) << failed.message();
}

TEST(Lifetime, OfARequesterEndsBeforeCallsThatTheirClientHasCancelled) {
  asio::io_context context;
  OneCall requester;
  asio::cancellation_signal signal;
  error_code ended;
  {
    rpc::Client client(requester, context.get_executor());
    client.async_call<hello::Null>(
        {}, asio::bind_cancellation_slot(signal.slot(), [&](error_code failed, const auto&) { ended = failed; }));
  }
  EXPECT_EQ(requester.cancels, 1);
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(requester.cancels, 1) << "the requester may be gone";
  requester.kept->done(BaseError::cancelled, nullptr);
  context.run();
  EXPECT_EQ(ended, BaseError::cancelled);
}

}  // namespace
}  // namespace rpcrdma::test
