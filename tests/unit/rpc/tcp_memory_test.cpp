// SPDX-License-Identifier: BSD-3-Clause
// Memory of calls over TCP: its bounds, and how it is shared when there is not enough.
#include <algorithm>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <functional>

#include "record_store.hpp"
#include "support/hex.hpp"
#include "tcp_record.hpp"
#include "unit/rpc/tcp_bed.hpp"

namespace rpcrdma::rpc {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using test::sample;
using test::TcpBed;

/// A call of READ, as one record.
test::Bytes read_of(std::uint32_t count) {
  test::Bytes record = test::from_hex(
      "80000048 00000007 00000000 00000002 000186a3 00000003 00000006 00000000 00000000 00000000 00000000"
      "00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000");
  Writer(MutableOctets(record).last(4)).u32(count);
  return record;
}

/// Clients with different addresses, and the calls whose replies have been granted or refused memory.
class MemoryBed : public TcpBed {
 public:
  explicit MemoryBed(TcpServerOptions options) : TcpBed(options) {}
  ~MemoryBed() {
    server.reset();  // ends the server while handlers still hold its calls
    granted.clear();
    refused.clear();
    test::run_ready(context);
  }

  void hold_reads() {
    dispatcher.on<nfs3::Read>(
        [this](ServerCall<nfs3::Read> call) {
          const std::uint32_t count = call.args().count;
          async_reserve(std::move(call), count, [this](error_code status, ServerCall<nfs3::Read> resumed) {
            (status ? refused : granted).push_back(std::move(resumed));
          });
        },
        AuthRequirement::none);
  }
  void answer_reads() {
    dispatcher.on<nfs3::Read>(
        [](ServerCall<nfs3::Read> call) {
          const std::uint32_t count = call.args().count;
          async_reserve(std::move(call), count,
                        [](error_code, ServerCall<nfs3::Read> resumed) { resumed.reply(sample<READ3res>()); });
        },
        AuthRequirement::none);
  }
  tcp::socket connect_from(const char* address) {
    tcp::socket socket(context);
    socket.open(tcp::v4());
    socket.bind({asio::ip::make_address(address), 0});
    socket.connect(endpoint);
    return socket;
  }
  /// Waits until the handler has received `calls` calls in total.
  void await_calls(std::uint64_t calls) {
    EXPECT_TRUE(test::run_until(context, [&] { return server->counters().calls == calls; }));
    test::run_ready(context);
  }
  long granted_to(const char* address) const {
    return std::ranges::count(granted, asio::ip::make_address(address),
                              [](const auto& call) { return call.peer().address(); });
  }

  std::vector<ServerCall<nfs3::Read>> granted;
  std::vector<ServerCall<nfs3::Read>> refused;
};

TEST(TcpMemory, AnAddressThatHoldsAllItCanLeavesRoomForOthers) {
  MemoryBed bed({.bulk_budget = 1600000});
  bed.hold_reads();
  std::vector<tcp::socket> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.push_back(bed.connect_from("127.0.0.2"));
    for (int j = 0; j < 4; ++j) asio::write(crowd.back(), asio::buffer(read_of(60000)));
  }
  bed.await_calls(32);
  const long held = bed.granted_to("127.0.0.2");
  EXPECT_GE(held, 8) << "at least one per connection";
  EXPECT_LE(held * 60000, 1200000) << "at most three quarters of the budget";
  tcp::socket other = bed.connect_from("127.0.0.3");
  asio::write(other, asio::buffer(read_of(400000)));
  bed.await_calls(33);
  EXPECT_EQ(bed.granted_to("127.0.0.3"), 1);
  asio::write(crowd.back(), asio::buffer(read_of(4096)));
  bed.await_calls(34);
  EXPECT_EQ(bed.granted_to("127.0.0.2"), held + 1) << "small requests are not counted";
  std::size_t served = 0;
  while (served < 34) {
    ASSERT_TRUE(test::run_until(bed.context, [&] { return !bed.granted.empty(); }));
    served += bed.granted.size();
    bed.granted.clear();
  }
  EXPECT_EQ(served, 34u);
}

TEST(TcpMemory, AConnectionThatHoldsAllItCanLeavesRoomForThoseOfItsAddress) {
  MemoryBed bed({.bulk_budget = 1600000});
  bed.hold_reads();
  tcp::socket greedy = bed.connect_from("127.0.0.2"), modest = bed.connect_from("127.0.0.2");
  for (int i = 0; i < 8; ++i) asio::write(greedy, asio::buffer(read_of(100000)));
  bed.await_calls(8);
  EXPECT_EQ(bed.granted.size(), 6u);
  asio::write(modest, asio::buffer(read_of(100000)));
  bed.await_calls(9);
  ASSERT_EQ(bed.granted.size(), 7u);
  EXPECT_EQ(bed.granted[6].peer().port(), modest.local_endpoint().port());
  bed.granted.clear();
  EXPECT_TRUE(test::run_until(bed.context, [&] { return bed.granted.size() == 2; })) << "the remaining two";
}

TEST(TcpMemory, ALoneCallMayHaveTheWholeBudget) {
  MemoryBed bed({.bulk_budget = 1600000});
  bed.hold_reads();
  tcp::socket one = bed.connect_from("127.0.0.2"), other = bed.connect_from("127.0.0.2");
  asio::write(one, asio::buffer(read_of(1600000)));
  bed.await_calls(1);
  EXPECT_EQ(bed.granted.size(), 1u);
  asio::write(other, asio::buffer(read_of(5000)));
  bed.await_calls(2);
  EXPECT_EQ(bed.granted.size(), 1u);
  bed.granted.clear();
  EXPECT_TRUE(test::run_until(bed.context, [&] { return bed.granted.size() == 1; }));
}

TEST(TcpMemory, CallsThatWaitEndWithTheirConnection) {
  MemoryBed bed({.bulk_budget = 1600000});
  bed.hold_reads();
  tcp::socket gone = bed.connect_from("127.0.0.2");
  for (int i = 0; i < 3; ++i) asio::write(gone, asio::buffer(read_of(700000)));
  bed.await_calls(3);
  gone.close();
  EXPECT_TRUE(test::run_until(bed.context, [&] { return bed.refused.size() == 2; }));
  EXPECT_EQ(bed.granted.size(), 1u);
  tcp::socket other = bed.connect_from("127.0.0.2");
  bed.refused.clear();
  bed.granted.clear();
  asio::write(other, asio::buffer(read_of(1600000)));
  EXPECT_TRUE(test::run_until(bed.context, [&] { return bed.granted.size() == 1; })) << "no memory is in use any more";
}

TEST(TcpMemory, AConnectionThatTakesNoRepliesIsClosedWhenOthersWait) {
  MemoryBed bed({.max_calls = 4, .bulk_budget = 32760, .pressed_timeout = std::chrono::seconds(1)});
  bed.answer_reads();
  tcp::socket deaf = bed.connect_from("127.0.0.2");
  const test::Bytes one = read_of(8190);
  // Sends calls until the replies fill the buffers of the sockets, however large these are.
  std::function<void(error_code)> send = [&](error_code failed) {
    if (failed) return;
    asio::async_write(deaf, asio::buffer(one), [&send](error_code status, std::size_t) { send(status); });
  };
  send({});
  bed.run([](MemoryBed& b) -> asio::awaitable<void> {
    tcp::socket reader = b.connect_from("127.0.0.2");
    // While the replies on `deaf` hold the bulk budget, the reply to this call waits for a part of it.
    const test::Bytes call = read_of(20000);
    test::Bytes reply(4);
    while (b.server->counters().connections != 1 || b.server->counters().accepted != 2) {
      co_await asio::async_write(reader, asio::buffer(call), asio::use_awaitable);
      reply.resize(4);
      co_await asio::async_read(reader, asio::buffer(reply), asio::use_awaitable);
      reply.resize(Reader(reply).u32() & 0x7fffffffu);
      co_await asio::async_read(reader, asio::buffer(reply), asio::use_awaitable);
    }
  }(bed));
}

TEST(TcpMemory, AConnectionThatStopsInARecordIsClosedWhenOthersWait) {
  MemoryBed bed({.max_record = 64000, .record_budget = 64000, .pressed_timeout = std::chrono::seconds(1)});
  tcp::socket stopped = bed.connect_from("127.0.0.2"), other = bed.connect_from("127.0.0.3");
  test::Bytes begun = test::from_hex("8000ea60 00000001 00000000");
  begun.resize(1000);
  asio::write(stopped, asio::buffer(begun));
  bed.run([](MemoryBed& b, tcp::socket& socket) -> asio::awaitable<void> {
    test::Bytes reply(28);
    const auto ask = [&](std::size_t octets) {
      test::Bytes call = test::from_hex(
          "80000000 00000005 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000");
      call.resize(4 + octets);
      Writer(call).u32(kLastFragment | static_cast<std::uint32_t>(octets));
      asio::write(socket, asio::buffer(call));
      return asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
    };
    // A record of 40 bytes is too short to count against record_budget. It does not wait for the memory that `stopped`
    // holds, so the server does not close `stopped`.
    co_await ask(40);
    EXPECT_EQ(b.server->counters().connections, 2u);
    co_await ask(50000);
    EXPECT_EQ(reply[7], std::byte{5});
    EXPECT_EQ(b.server->counters().connections, 1u);
    co_await ask(50000);
  }(bed, other));
}

TEST(TcpMemory, RecordStoreReturnsAtMostTwiceTheSizeAskedFor) {
  RecordStore store;
  Record large = store.take(100000);
  const std::byte* place = large.data();
  store.put(std::move(large));
  EXPECT_LT(store.take(10000).capacity(), 20001u);
  large = store.take(60000);
  EXPECT_EQ(large.data(), place);
  EXPECT_TRUE(large.empty());
  store.put(std::move(large));
  store.clear();
  for (int i = 0; i < 20; ++i) store.put(store.take(std::size_t{1} << 20));
  store.put(Record(std::size_t{9} << 20));  // more than the store keeps
  EXPECT_LT(store.take(std::size_t{9} << 20).capacity(), (std::size_t{18} << 20) + 1);
}

}  // namespace
}  // namespace rpcrdma::rpc
