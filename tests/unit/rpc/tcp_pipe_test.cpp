// SPDX-License-Identifier: BSD-3-Clause
// Replies over TCP whose data is in a pipe (IncomingCall::send_from()).
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <csignal>

#include "rpcrdma/base/fd.hpp"
#include "rpcrdma/connection/error.hpp"
#include "support/hex.hpp"
#include "support/pattern.hpp"
#include "unit/rpc/tcp_bed.hpp"

namespace rpcrdma::rpc {
namespace {

namespace asio = boost::asio;
using test::kTuple;
using test::sample;
using test::TcpBed;

/// A server whose READ sends the contents of a new pipe, or sample data if the call asks for less than 100,000 bytes.
class TcpPipeTest : public testing::Test {
 protected:
  TcpPipeTest() : before_(std::signal(SIGPIPE, SIG_IGN)) {
    bed_.dispatcher.on<nfs3::Read>([this](ServerCall<nfs3::Read> call) { serve(std::move(call)); },
                                   AuthRequirement::none);
  }
  ~TcpPipeTest() override { std::signal(SIGPIPE, before_); }

  void serve(ServerCall<nfs3::Read> call) {
    READ3res result = sample<READ3res>();
    const std::uint32_t size = call.args().count;
    if (size < 100'000) return call.reply(result);
    if (holds_) {
      held_ = std::move(call);
      return;
    }
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    auto out = std::make_shared<Fd>(ends[0]);
    const Fd in(ends[1]);
    ::fcntl(in.get(), F_SETPIPE_SZ, 1 << 20);
    test::Bytes data(size - missing_);
    test::fill_pattern(data, 7);
    ASSERT_EQ(::write(in.get(), data.data(), data.size()), static_cast<ssize_t>(data.size()));
    permitted_ = call.transport().send_from(out->get());
    if (!permitted_) return call.reject(AcceptStat::system_err);
    const auto parts = std::make_shared<const std::array<BufferRef, 2>>(
        std::array{BufferRef{.size = size - 1000}, BufferRef{.size = 1000}});
    result.READ3res_u.resok.count = size;
    result.READ3res_u.resok.data.set_parts(*parts);
    call.reply(result, [this, out, parts](error_code status) {
      outcome_ = status;
      ::ioctl(out->get(), FIONREAD, &left_);
    });
  }

  asio::awaitable<void> read(std::uint32_t size) {
    READ3args args = sample<READ3args>();
    args.count = size;
    auto [status, result] = co_await bed_.client->async_call<nfs3::Read>(args, kTuple);
    EXPECT_FALSE(status) << status.message();
    if (status) co_return;
    const auto data = result->READ3res_u.resok.data.octet_span();
    EXPECT_EQ(data.size(), size < 100'000 ? test::file_data().size() : size);
    EXPECT_TRUE(test::has_pattern(data, 7));
  }

  TcpBed bed_;
  void (*const before_)(int);
  std::uint32_t missing_ = 0;  // bytes that are not in the pipe
  bool holds_ = false;
  ServerCall<nfs3::Read> held_;
  bool permitted_ = false;
  error_code outcome_;
  int left_ = -1;  // bytes in the pipe after the call
};

TEST_F(TcpPipeTest, AllSizesArrive) {
  for (const std::uint32_t size : {100'000u, 100'001u, 131'072u, 333'335u, 1'048'576u}) {
    bed_.run(read(size));
    EXPECT_TRUE(permitted_);
    EXPECT_EQ(left_, 0) << size;
  }
  bed_.run(read(5000));
}

TEST_F(TcpPipeTest, RepliesKeepTheirOrderAndLength) {
  asio::co_spawn(bed_.context, read(1'000'001), asio::detached);
  asio::co_spawn(bed_.context, read(100), asio::detached);
  asio::co_spawn(bed_.context, read(100'003), asio::detached);
  bed_.run(read(5000));
  EXPECT_EQ(bed_.requester->counters().replies, 4u);
}

// The socket does not take a whole reply at once, so that each reply is sent in many parts.
TEST_F(TcpPipeTest, ASlowReaderReceivesAll) {
  asio::ip::tcp::socket slow(bed_.context);
  slow.open(bed_.endpoint.protocol());
  slow.set_option(asio::socket_base::receive_buffer_size(4096));
  bed_.run([](TcpBed& bed, asio::ip::tcp::socket& socket) -> asio::awaitable<void> {
    co_await socket.async_connect(bed.endpoint, asio::use_awaitable);
    test::Bytes calls;
    for (std::uint32_t xid = 0; xid < 12; ++xid) {
      test::Bytes one = test::from_hex(  // READ of 1,000,001 bytes
          "80000048 00000000 00000000 00000002 000186a3 00000003 00000006 00000000 00000000 00000000 00000000"
          "00000010 00000000 00000000 00000000 00000000 00000000 00000000 000f4241");
      Writer(std::span(one).subspan(4, 4)).u32(xid);
      calls.insert(calls.end(), one.begin(), one.end());
    }
    co_await asio::async_write(socket, asio::buffer(calls), asio::use_awaitable);
    for (std::uint32_t xid = 0; xid < 12; ++xid) {
      test::Bytes reply(4);
      co_await asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
      reply.resize(Reader(reply).u32() & 0x7fffffff);
      co_await asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
      EXPECT_EQ(Reader(reply).u32(), xid);
      const std::size_t start = reply.size() - 1'000'004;
      EXPECT_TRUE(test::has_pattern(std::span(reply).subspan(start, 1'000'001), 7));
      EXPECT_EQ(reply.back(), std::byte{});
    }
  }(bed_, slow));
}

TEST_F(TcpPipeTest, APipeWithTooFewBytesEndsTheConnection) {
  missing_ = 1;
  bed_.run([](TcpBed& bed) -> asio::awaitable<void> {
    READ3args args = sample<READ3args>();
    args.count = 200'000;
    auto [status, result] = co_await bed.client->async_call<nfs3::Read>(args, kTuple);
    EXPECT_TRUE(status) << "the client learns of the end before its deadline";
  }(bed_));
  EXPECT_TRUE(outcome_);
  missing_ = 0;
  bed_.run(read(200'000));
}

TEST_F(TcpPipeTest, BytesForALostConnectionStayInThePipe) {
  holds_ = true;
  READ3args args = sample<READ3args>();
  args.count = 200'000;
  bed_.client->async_call<nfs3::Read>(args, [](error_code, Decoded<READ3res>) {});
  ASSERT_TRUE(test::run_until(bed_.context, [this] { return static_cast<bool>(held_); }));
  bed_.client.reset();
  bed_.requester.reset();
  ASSERT_TRUE(test::run_until(bed_.context, [this] { return bed_.server->counters().connections == 0; }));
  holds_ = false;
  serve(std::move(held_));
  EXPECT_TRUE(test::run_until(bed_.context, [this] { return left_ >= 0; }));
  EXPECT_EQ(outcome_, transport::TransportError::connection_lost);
  EXPECT_EQ(left_, 200'000);
}

TEST_F(TcpPipeTest, NeedsAProgramThatIgnoresSigpipe) {
  std::signal(SIGPIPE, SIG_DFL);
  bed_.run([](TcpBed& bed) -> asio::awaitable<void> {
    READ3args args = sample<READ3args>();
    args.count = 200'000;
    auto [status, result] = co_await bed.client->async_call<nfs3::Read>(args, kTuple);
    EXPECT_EQ(status, RpcError::system_err);
  }(bed_));
  EXPECT_FALSE(permitted_);
}

}  // namespace
}  // namespace rpcrdma::rpc
