// SPDX-License-Identifier: BSD-3-Clause
// async_call() with callbacks, futures and coroutines as completion tokens.
#include "rpcrdma/requester/async_call.hpp"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "both_sides.hpp"
#include "raw_peer.hpp"
#include "support/pattern.hpp"

namespace rpcrdma::test {
namespace {

transport::CallSpec small_call(std::vector<BufferRef> result = {}) {
  transport::CallSpec spec;
  const auto results = static_cast<std::uint32_t>(result.empty() ? 0 : 1);
  std::uint32_t length = 0;
  for (const BufferRef& part : result) length += part.size;
  if (results != 0) spec.results.emplace_back(result.begin(), result.end());
  spec.encode = [results, length](PayloadBuilder& out, std::uint32_t xid) {
    for (const std::uint32_t word : {xid, 0u, 5u, 0u, 0u, results}) out.u32(word);
    if (results != 0) out.u32(length);
  };
  spec.max_reply = 64;
  return spec;
}

TEST(AsyncCall, Callback) {
  BothSides sides;
  const memory::RegisteredBuffer memory = sides.client_pool.allocate(10000).value();
  transport::OwnedReply reply;
  error_code status = BaseError::invalid_argument;
  transport::async_call(sides.client->requester(), sides.context, small_call({memory.ref()}),
                        [&](error_code result, transport::OwnedReply got) {
                          status = result;
                          reply = std::move(got);
                        });
  ASSERT_TRUE(sides.wait([&] { return status != BaseError::invalid_argument; }));
  EXPECT_FALSE(status);
  EXPECT_EQ(reply.results, (std::vector<std::uint32_t>{10000}));
  EXPECT_EQ(reply.message.size(), 16u);
  EXPECT_TRUE(has_pattern(memory.octets(), 0x10000 + 5));
}

TEST(AsyncCall, Future) {
  BothSides sides;
  auto future = transport::async_call(sides.client->requester(), sides.context, small_call(), boost::asio::use_future);
  ASSERT_TRUE(sides.wait([&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(future.get().message.size(), 12u);
}

// The handler runs on another io_context, which has nothing else to do. It does not stop before the call completes.
TEST(AsyncCall, HandlerOnAnotherContext) {
  BothSides sides;
  boost::asio::io_context other;
  bool done = false;
  const auto handler = [&](error_code, const transport::OwnedReply&) { done = true; };
  transport::async_call(sides.client->requester(), sides.context, small_call(),
                        boost::asio::bind_executor(other.get_executor(), handler));
  other.poll();
  EXPECT_FALSE(other.stopped());
  EXPECT_TRUE(sides.wait([&] {
    other.restart();
    other.poll();
    return done;
  }));
  other.restart();
  other.poll();
  EXPECT_TRUE(other.stopped());
}

TEST(AsyncCall, CoroutineAndCancellation) {
  BothSides sides;
  bool finished = false;
  boost::asio::cancellation_signal signal;
  const auto coroutine = [&]() -> boost::asio::awaitable<void> {
    const auto reply = co_await transport::async_call(sides.client->requester(), sides.context, small_call(),
                                                      boost::asio::use_awaitable);
    EXPECT_EQ(reply.message.size(), 12u);
    sides.handler.intercept = [](transport::IncomingCall&) { return true; };  // takes the call and never replies
    try {
      co_await transport::async_call(sides.client->requester(), sides.context, small_call(),
                                     boost::asio::bind_cancellation_slot(signal.slot(), boost::asio::use_awaitable));
      ADD_FAILURE();
    } catch (const boost::system::system_error& error) {
      EXPECT_EQ(error.code(), BaseError::cancelled);
    }
    finished = true;
  };
  boost::asio::co_spawn(sides.context, coroutine, boost::asio::detached);
  ASSERT_TRUE(sides.wait([&] { return sides.handler.calls == 2; }));
  signal.emit(boost::asio::cancellation_type::total);
  ASSERT_TRUE(sides.wait([&] { return finished; }));
}

}  // namespace
}  // namespace rpcrdma::test
