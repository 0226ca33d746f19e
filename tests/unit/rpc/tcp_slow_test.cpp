// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP that take replies slowly or not at all, and the order and end of the replies.
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "support/hex.hpp"
#include "support/pattern.hpp"
#include "unit/rpc/tcp_bed.hpp"

namespace rpcrdma::rpc {
namespace {

namespace asio = boost::asio;
using test::kTuple;
using test::sample;
using test::TcpBed;

/// A call of READ, as one record.
test::Bytes read_record(std::uint32_t xid) {
  test::Bytes record = test::from_hex(
      "80000048 00000000 00000000 00000002 000186a3 00000003 00000006 00000000 00000000 00000000 00000000"
      "00000010 00000000 00000000 00000000 00000000 00000000 00000000 00001ffe");
  for (std::size_t i = 0; i < 4; ++i) record[4 + i] = static_cast<std::byte>(xid >> (24 - 8 * i));
  return record;
}

/// Connects `socket` to the server of `bed`. The receive buffer of `socket` is small. If the test does not read, the
/// server therefore soon cannot send more replies.
asio::awaitable<void> connect_slow(TcpBed& bed, asio::ip::tcp::socket& socket) {
  const asio::ip::tcp::endpoint server = bed.endpoint;
  socket.open(server.protocol());
  socket.set_option(asio::socket_base::receive_buffer_size(4096));
  co_await socket.async_connect(server, asio::use_awaitable);
}

/// Sends `count` READ calls with the XIDs from 0 on. While the client does not read the replies, the server may stop
/// reading calls, and this coroutine then waits. Returns early if the connection ends.
asio::awaitable<void> send_reads(asio::ip::tcp::socket& socket, std::uint32_t count) {
  test::Bytes calls;
  for (std::uint32_t xid = 0; xid < count; ++xid) {
    const test::Bytes one = read_record(xid);
    calls.insert(calls.end(), one.begin(), one.end());
  }
  co_await asio::async_write(socket, asio::buffer(calls), kTuple);
}

TEST(TcpTest, APeerThatTakesNoRepliesTimesOut) {
  TcpBed bed({.max_calls = 4, .stall_timeout = std::chrono::seconds(1)});
  bed.dispatcher.on<nfs3::Read>([](ServerCall<nfs3::Read> call) { call.reply(sample<READ3res>()); },
                                AuthRequirement::none);
  asio::ip::tcp::socket deaf(bed.context);
  bed.run(connect_slow(bed, deaf));
  bed.run(send_reads(deaf, 2000));
  EXPECT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().calls > 4; }));
  EXPECT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().connections == 0; }));
}

TEST(TcpTest, ASlowReaderReceivesAllRepliesWholeAndInOrder) {
  constexpr std::uint32_t kCalls = 2000;  // more bytes of replies than the buffers of both sockets hold
  TcpBed bed;
  bed.dispatcher.on<nfs3::Read>([](ServerCall<nfs3::Read> call) { call.reply(sample<READ3res>()); },
                                AuthRequirement::none);
  asio::ip::tcp::socket slow(bed.context);
  bed.run(connect_slow(bed, slow));
  asio::co_spawn(bed.context, send_reads(slow, kCalls), asio::detached);
  bed.run([](asio::ip::tcp::socket& socket) -> asio::awaitable<void> {
    test::Bytes expected;
    for (std::uint32_t xid = 0; xid < kCalls; ++xid) {
      test::Bytes reply(4);
      co_await asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
      reply.resize(4 + (Reader(reply).u32() & 0x7fffffff));
      co_await asio::async_read(socket, asio::buffer(reply) + 4, asio::use_awaitable);
      if (xid == 0) expected = reply;
      Writer(std::span(expected).subspan(4, 4)).u32(xid);
      if (reply != expected) {
        ADD_FAILURE() << "reply " << xid << " differs";
        co_return;
      }
    }
    EXPECT_GT(expected.size(), test::file_data().size());
  }(slow));
}

// The end of a call may let another call have its memory and reply at once, while the connection still counts the bytes
// of the first reply.
TEST(TcpTest, AReplyThatStartsWhenAnotherEndsIsWhole) {
  static constexpr std::uint32_t kSize = 8 << 20;  // more than the buffers of both sockets hold
  TcpBed bed({.max_call_bytes = 4 * kSize, .bulk_budget = kSize});
  auto data = bed.pool.allocate(kSize);
  ASSERT_TRUE(data);
  test::fill_pattern(data->ref().octets(), 3);
  const BufferRef part = data->ref();
  bed.dispatcher.on<nfs3::Read>(
      [&part](ServerCall<nfs3::Read> call) {
        async_reserve(std::move(call), kSize, [&part](error_code status, ServerCall<nfs3::Read> granted) {
          ASSERT_FALSE(status);
          READ3res result = sample<READ3res>();
          result.READ3res_u.resok.data.set_parts({&part, 1});
          granted.reply(result);
        });
      },
      AuthRequirement::none);
  asio::ip::tcp::socket slow(bed.context);
  bed.run(connect_slow(bed, slow));
  asio::co_spawn(bed.context, send_reads(slow, 3), asio::detached);
  bed.run([](asio::ip::tcp::socket& socket) -> asio::awaitable<void> {
    for (std::uint32_t xid = 0; xid < 3; ++xid) {
      test::Bytes reply(4);
      co_await asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
      reply.resize(Reader(reply).u32() & 0x7fffffff);
      co_await asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
      EXPECT_EQ(Reader(reply).u32(), xid);
      EXPECT_GT(reply.size(), kSize);
      EXPECT_TRUE(test::has_pattern(std::span(reply).last(kSize), 3));
    }
  }(slow));
}

// A drained connection has unread calls. TCP would answer a plain close() with a reset, and the client would lose
// replies.
TEST(TcpTest, ADrainedConnectionEndsBehindItsReplies) {
  TcpBed bed({.max_calls = 4});
  bed.dispatcher.on<nfs3::Read>([](ServerCall<nfs3::Read> call) { call.reply(sample<READ3res>()); },
                                AuthRequirement::none);
  asio::ip::tcp::socket client(bed.context);
  bed.run(connect_slow(bed, client));
  asio::co_spawn(bed.context, send_reads(client, 2000), asio::detached);
  ASSERT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().calls > 4; }));
  bool closed = false;
  bed.server->close(std::chrono::steady_clock::now() + std::chrono::hours(1), [&closed] { closed = true; });
  bed.run([](asio::ip::tcp::socket& socket) -> asio::awaitable<void> {
    test::Bytes replies;
    error_code end;
    while (!end) {
      test::Bytes more(4096);
      const auto [status, size] = co_await socket.async_read_some(asio::buffer(more), kTuple);
      replies.insert(replies.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(size));
      end = status;
    }
    EXPECT_EQ(end, asio::error::eof);
    if (replies.size() < 4) {
      ADD_FAILURE() << "no reply";
      co_return;
    }
    const std::size_t each = 4 + (Reader(replies).u32() & 0x7fffffff);
    EXPECT_EQ(replies.size() % each, 0u) << "the last reply is whole";
    error_code ignored;
    socket.close(ignored);
  }(client));
  EXPECT_TRUE(test::run_until(bed.context, [&closed] { return closed; }));
}

}  // namespace
}  // namespace rpcrdma::rpc
