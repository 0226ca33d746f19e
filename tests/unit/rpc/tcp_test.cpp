// SPDX-License-Identifier: BSD-3-Clause
// The typed client and server over TCP: results of all kinds, completion tokens, bounds, hostile clients, closing.
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <thread>

#include "rpcrdma/connection/error.hpp"
#include "support/hex.hpp"
#include "unit/rpc/tcp_bed.hpp"

namespace rpcrdma::rpc {
namespace {

namespace asio = boost::asio;
using test::kTuple;
using test::sample;
using test::TcpBed;

void serve_files(Dispatcher& dispatcher) {
  dispatcher.on<nfs3::Getattr>([](ServerCall<nfs3::Getattr> call) { call.reply(sample<GETATTR3res>()); });
  dispatcher.on<nfs3::Read>([](ServerCall<nfs3::Read> call) { call.reply(sample<READ3res>()); });
  dispatcher.on<nfs3::Readlink>([](ServerCall<nfs3::Readlink> call) { call.reply(sample<READLINK3res>()); });
  dispatcher.on<nfs3::Readdir>([](ServerCall<nfs3::Readdir> call) { call.reply(sample<READDIR3res>()); });
  dispatcher.on<nfs3::Write>([](ServerCall<nfs3::Write> call) {
    WRITE3res result = sample<WRITE3res>();
    const auto got = call.args().data.octet_span();
    const bool same = std::equal(got.begin(), got.end(), test::file_data().begin(), test::file_data().end());
    result.WRITE3res_u.resok.count = same ? static_cast<count3>(got.size()) : 0;
    call.reply(result);
  });
}

TEST(TcpTest, ResultsOfAllKinds) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    co_await b.client->async_call<nfs3::Null>({}, asio::use_awaitable);
    const auto attr = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), asio::use_awaitable);
    EXPECT_EQ(attr->GETATTR3res_u.resok.obj_attributes.fileid, 0xfedcba9876543210u);
    const auto read = co_await b.client->async_call<nfs3::Read>(sample<READ3args>(), asio::use_awaitable);
    const auto data = read->READ3res_u.resok.data.octet_span();
    EXPECT_TRUE(std::equal(data.begin(), data.end(), test::file_data().begin(), test::file_data().end()));
    auto link = co_await b.client->async_call<nfs3::Readlink>(sample<READLINK3args>(), asio::use_awaitable);
    const Decoded<READLINK3res> moved = std::move(link);
    EXPECT_EQ(moved->READLINK3res_u.resok.data.text(), test::long_path());
    const auto list = co_await b.client->async_call<nfs3::Readdir>(sample<READDIR3args>(), asio::use_awaitable);
    const entry3_list& entries = list->READDIR3res_u.resok.reply.entries;
    EXPECT_EQ(entries.count, 14u);
    EXPECT_EQ(entries.items[13].name.view(), test::long_name());
    const auto wrote = co_await b.client->async_call<nfs3::Write>(sample<WRITE3args>(), asio::use_awaitable);
    EXPECT_EQ(wrote->WRITE3res_u.resok.count, test::file_data().size());
  }(bed));
  EXPECT_EQ(bed.server->counters().connections, 1u);
  EXPECT_EQ(bed.requester->counters().replies, 6u);
}

TEST(TcpTest, DataLandsInTheCallersBuffers) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  auto buffer = bed.pool.allocate(16384);
  ASSERT_TRUE(buffer);
  const BufferRef parts[] = {buffer->ref().slice(0, 1000), buffer->ref().slice(5000, 11000)};
  bed.run([](TcpBed& b, std::span<const BufferRef> into) -> asio::awaitable<void> {
    const auto read =
        co_await b.client->async_call<nfs3::Read>(sample<READ3args>(), CallOptions().into(into), asio::use_awaitable);
    EXPECT_EQ(read->READ3res_u.resok.data.kind, bulk_kind::placed);
    EXPECT_EQ(read->READ3res_u.resok.data.length, 8190u);
  }(bed, parts));
  EXPECT_TRUE(test::has_pattern(parts[0].octets(), 7));
  EXPECT_TRUE(test::has_pattern(parts[1].slice(0, 7190).octets(), 7, 1000));
}

TEST(TcpTest, TooManyOrTooSmallResultBuffers) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  auto buffer = bed.pool.allocate(4096);
  const BufferRef part = buffer->ref();
  bed.run([](TcpBed& b, BufferRef into) -> asio::awaitable<void> {
    const std::span<const BufferRef> one(&into, 1);
    auto [refused, none] =
        co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), CallOptions().into(one), kTuple);
    EXPECT_EQ(refused, BaseError::invalid_argument);
    READ3args args = sample<READ3args>();
    args.count = into.size + 1;  // [8166-4.3.2.2-b]
    auto [small, none_either] = co_await b.client->async_call<nfs3::Read>(args, CallOptions().into(one), kTuple);
    EXPECT_EQ(small, BaseError::invalid_argument);
    args.count = into.size;  // the reply then has more data than was requested
    auto [more, nothing] = co_await b.client->async_call<nfs3::Read>(args, CallOptions().into(one), kTuple);
    EXPECT_EQ(more, RpcError::bad_reply);
  }(bed, part));
}

TEST(TcpTest, EveryErrorReachesItsCaller) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  bed.dispatcher.on<nfs3::Access>([](ServerCall<nfs3::Access>) {});
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    auto [program, r1] = co_await b.client->async_call<mount3::Umntall>({}, kTuple);
    EXPECT_EQ(program, RpcError::program_unavailable);
    auto [procedure, r2] = co_await b.client->async_call<nfs3::Mkdir>(sample<MKDIR3args>(), kTuple);
    EXPECT_EQ(procedure, RpcError::procedure_unavailable);
    auto [system, r3] = co_await b.client->async_call<nfs3::Access>(sample<ACCESS3args>(), kTuple);
    EXPECT_EQ(system, RpcError::system_err);
    CallOptions weak;
    weak.credential.emplace();
    auto [auth, r4] = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), weak, kTuple);
    EXPECT_EQ(auth, RpcError::auth_too_weak);
    GETATTR3args broken{};
    broken.object.length = 65;
    auto [encoding, r5] = co_await b.client->async_call<nfs3::Getattr>(broken, kTuple);
    EXPECT_EQ(encoding, RpcError::unencodable);
    auto [fine, r6] = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), kTuple);
    EXPECT_FALSE(fine);
  }(bed));
}

TEST(TcpTest, CallbacksAndFutures) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  int answered = 0;
  for (int i = 0; i < 100; ++i) {
    bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(),
                                          [&answered](error_code status, Decoded<GETATTR3res> result) {
                                            EXPECT_FALSE(status);
                                            EXPECT_EQ(result->status, NFS3_OK);
                                            ++answered;
                                          });
  }
  EXPECT_EQ(answered, 0);
  EXPECT_TRUE(test::run_until(bed.context, [&answered] { return answered == 100; }));
  auto future = bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), asio::use_future);
  EXPECT_TRUE(test::run_until(
      bed.context, [&future] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(future.get()->status, NFS3_OK);
}

TEST(TcpTest, CancellationAndDeadlines) {
  TcpBed bed;
  std::vector<ServerCall<nfs3::Getattr>> held;
  bed.dispatcher.on<nfs3::Getattr>([&held](ServerCall<nfs3::Getattr> call) { held.push_back(std::move(call)); });
  asio::cancellation_signal signal;
  std::optional<error_code> cancelled;
  bed.client->async_call<nfs3::Getattr>(
      sample<GETATTR3args>(),
      asio::bind_cancellation_slot(signal.slot(),
                                   [&cancelled](error_code status, Decoded<GETATTR3res>) { cancelled = status; }));
  ASSERT_TRUE(test::run_until(bed.context, [&held] { return held.size() == 1; }));
  signal.emit(asio::cancellation_type::total);
  EXPECT_FALSE(cancelled);
  ASSERT_TRUE(test::run_until(bed.context, [&cancelled] { return cancelled.has_value(); }));
  EXPECT_EQ(*cancelled, BaseError::cancelled);
  CallOptions soon;
  soon.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  bed.run([](TcpBed& b, CallOptions options) -> asio::awaitable<void> {
    auto [status, result] = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), options, kTuple);
    EXPECT_EQ(status, BaseError::deadline_exceeded);
  }(bed, soon));
  held.clear();
  test::run_ready(bed.context);
}

TEST(TcpTest, ClientsMayBeDestroyedWithCallsInFlight) {
  TcpBed bed;
  std::vector<ServerCall<nfs3::Getattr>> held;
  bed.dispatcher.on<nfs3::Getattr>([&held](ServerCall<nfs3::Getattr> call) { held.push_back(std::move(call)); });
  int over = 0;
  for (int i = 0; i < 5; ++i) {
    bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), [&over](error_code status, Decoded<GETATTR3res>) {
      EXPECT_EQ(status, BaseError::cancelled);
      ++over;
    });
  }
  ASSERT_TRUE(test::run_until(bed.context, [&held] { return held.size() == 5; }));
  bed.client.reset();
  EXPECT_EQ(over, 0);
  EXPECT_TRUE(test::run_until(bed.context, [&over] { return over == 5; }));
  held.clear();
  test::run_ready(bed.context);
}

TEST(TcpTest, ServerRestarts) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    co_await b.client->async_call<nfs3::Null>({}, asio::use_awaitable);
    b.server.reset();
    auto [lost, r1] = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), kTuple);
    EXPECT_TRUE(lost);
    auto [refused, r2] = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), kTuple);
    EXPECT_EQ(refused, asio::error::connection_refused);
    b.server = TcpServer::make(b.context, b.pool, b.dispatcher, {}, {});
    EXPECT_TRUE(b.server->listen(b.endpoint));
    auto [fine, r3] = co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), kTuple);
    EXPECT_FALSE(fine) << fine.message();
  }(bed));
}

TEST(TcpTest, CallsOutliveTheirConnection) {
  TcpBed bed;
  std::vector<ServerCall<nfs3::Getattr>> held;
  bed.dispatcher.on<nfs3::Getattr>([&held](ServerCall<nfs3::Getattr> call) { held.push_back(std::move(call)); });
  bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), [](error_code, Decoded<GETATTR3res>) {});
  ASSERT_TRUE(test::run_until(bed.context, [&held] { return held.size() == 1; }));
  bed.client.reset();
  bed.requester.reset();
  ASSERT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().connections == 0; }));
  std::optional<error_code> released;
  EXPECT_EQ(held[0].args().object.length, 64u);
  held[0].reply(sample<GETATTR3res>(), [&released](error_code status) { released = status; });
  ASSERT_TRUE(test::run_until(bed.context, [&released] { return released.has_value(); }));
  EXPECT_EQ(*released, transport::TransportError::connection_lost);
}

/// Sends raw bytes and reads until the server closes the connection.
asio::awaitable<void> send_and_await_close(asio::ip::tcp::endpoint server, test::Bytes octets) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(octets), asio::use_awaitable);
  std::array<char, 256> back;
  for (;;) {
    auto [status, size] = co_await socket.async_read_some(asio::buffer(back), kTuple);
    if (status) break;
  }
}

TEST(TcpTest, HostileRecordsEndTheirConnectionOnly) {
  TcpBed bed({.max_record = 4096});
  serve_files(bed.dispatcher);
  for (const char* hex : {"80001001 00000000",                       // longer than max_record
                          "ffffffff",                                // much longer
                          "00000000 00000000",                       // fragments without end
                          "80000000",                                // an empty record
                          "80000004 00000001",                       // too short for a call
                          "8000000c 00000001 00000001 00000000"}) {  // a reply
    bed.run(send_and_await_close(bed.endpoint, test::from_hex(hex)));
  }
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    co_await b.client->async_call<nfs3::Null>({}, asio::use_awaitable);
  }(bed));
  EXPECT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().connections == 1; }));
}

TEST(TcpTest, HalfARecordMarkDelaysNoOtherAndTimesOut) {
  TcpBed bed({.idle_timeout = std::chrono::seconds(1)});
  serve_files(bed.dispatcher);
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    asio::ip::tcp::socket silent(b.context);
    co_await silent.async_connect(b.endpoint, asio::use_awaitable);
    co_await asio::async_write(silent, asio::buffer("\x80\x00\x00", 3), asio::use_awaitable);
    co_await b.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(), asio::use_awaitable);
    char back = 0;
    auto [status, size] = co_await silent.async_read_some(asio::buffer(&back, 1), kTuple);
    EXPECT_TRUE(status);
  }(bed));
}

// The timer of a connection without calls is not periodic.
TEST(TcpTest, AnIdleConnectionCausesNoWork) {
  TcpBed bed({.idle_timeout = std::chrono::seconds(3), .pressed_timeout = std::chrono::seconds(1)});
  asio::ip::tcp::socket idle(bed.context);
  bed.run([](TcpBed& b, asio::ip::tcp::socket& socket) -> asio::awaitable<void> {
    co_await socket.async_connect(b.endpoint, asio::use_awaitable);
  }(bed, idle));
  ASSERT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().connections == 1; }));
  int handlers = 0;
  while (bed.server->counters().connections != 0 && bed.context.run_one() != 0) ++handlers;
  EXPECT_LE(handlers, 4) << "the read, and the timer when it finds the connection idle and when the connection ends";
}

TEST(TcpTest, FragmentsAreJoined) {
  TcpBed bed;
  serve_files(bed.dispatcher);
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    asio::ip::tcp::socket socket(b.context);
    co_await socket.async_connect(b.endpoint, asio::use_awaitable);
    const test::Bytes wire = test::from_hex(  // a call of NULL in three fragments, divided within words
        "00000006 00000005 0000"
        "00000003 000000"
        "8000001f 000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000");
    co_await asio::async_write(socket, asio::buffer(wire), asio::use_awaitable);
    test::Bytes reply(28);
    co_await asio::async_read(socket, asio::buffer(reply), asio::use_awaitable);
    EXPECT_EQ(test::to_hex(reply),
              test::to_hex(test::from_hex("80000018 00000005 00000001 00000000 00000000 00000000 00000000")));
  }(bed));
}

TEST(TcpTest, AnUnfinishedRecordTimesOut) {
  TcpBed bed({.stall_timeout = std::chrono::seconds(1)});
  serve_files(bed.dispatcher);
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    asio::ip::tcp::socket stopped(b.context);
    co_await stopped.async_connect(b.endpoint, asio::use_awaitable);
    co_await asio::async_write(stopped, asio::buffer("\x80\x0f\xff\xff half", 9), asio::use_awaitable);
    char back = 0;
    auto [status, size] = co_await stopped.async_read_some(asio::buffer(&back, 1), kTuple);
    EXPECT_TRUE(status);
    EXPECT_EQ(b.server->counters().connections, 0u);
  }(bed));
}

TEST(TcpTest, DataForRepliesIsBounded) {
  TcpBed bed({.bulk_budget = 1600000});
  std::vector<ServerCall<nfs3::Read>> granted;
  std::vector<error_code> refused;
  bed.dispatcher.on<nfs3::Read>([&](ServerCall<nfs3::Read> call) {
    const std::uint32_t count = call.args().count;
    async_reserve(std::move(call), count, [&](error_code status, ServerCall<nfs3::Read> resumed) {
      if (status) refused.push_back(status);
      granted.push_back(std::move(resumed));
    });
  });
  int answered = 0;
  const auto read = [&](std::uint32_t count) {
    READ3args args = sample<READ3args>();
    args.count = count;
    bed.client->async_call<nfs3::Read>(args, [&answered](error_code status, Decoded<READ3res>) {
      EXPECT_FALSE(status) << status.message();
      ++answered;
    });
  };
  const auto answer_first = [&] {
    ServerCall<nfs3::Read> first = std::move(granted.front());
    granted.erase(granted.begin());
    first.reply(sample<READ3res>());
  };
  read(1600001);
  ASSERT_TRUE(test::run_until(bed.context, [&] { return refused.size() == 1; }));
  EXPECT_EQ(refused[0], BaseError::out_of_memory);
  answer_first();
  for (const std::uint32_t count : {400000u, 250000u, 400000u, 5000u}) read(count);
  ASSERT_TRUE(test::run_until(bed.context, [&] { return bed.server->counters().calls == 5; }));
  EXPECT_EQ(granted.size(), 2u) << "the small request waits behind the large one";
  answer_first();
  ASSERT_TRUE(test::run_until(bed.context, [&] { return answered == 2; }));
  EXPECT_EQ(granted.size(), 2u) << "there is room for 400000 again, and no more";
  answer_first();
  ASSERT_TRUE(test::run_until(bed.context, [&] { return answered == 3; }));
  EXPECT_EQ(granted.size(), 2u);
  while (!granted.empty()) answer_first();
  EXPECT_TRUE(test::run_until(bed.context, [&] { return answered == 5; }));
}

TEST(TcpTest, AConnectionWithManyCallBytesIsReadNoFurther) {
  TcpBed bed({.max_call_bytes = 100});
  std::vector<ServerCall<nfs3::Getattr>> held;
  bed.dispatcher.on<nfs3::Getattr>([&held](ServerCall<nfs3::Getattr> call) { held.push_back(std::move(call)); });
  int answered = 0;
  for (int i = 0; i < 3; ++i)
    bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(),
                                          [&answered](error_code, Decoded<GETATTR3res>) { ++answered; });
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(test::run_until(bed.context, [&held] { return held.size() == 1; }));
    test::run_ready(bed.context);
    EXPECT_EQ(bed.server->counters().calls, static_cast<std::uint64_t>(i + 1));
    ServerCall<nfs3::Getattr> first = std::move(held.front());
    held.clear();
    first.reply(sample<GETATTR3res>());
  }
  EXPECT_TRUE(test::run_until(bed.context, [&answered] { return answered == 3; }));
}

TEST(TcpTest, ClosingWaitsForCalls) {
  TcpBed bed;
  std::vector<ServerCall<nfs3::Getattr>> held;
  bed.dispatcher.on<nfs3::Getattr>([&held](ServerCall<nfs3::Getattr> call) { held.push_back(std::move(call)); });
  std::optional<error_code> answered;
  bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(),
                                        [&answered](error_code status, Decoded<GETATTR3res>) { answered = status; });
  ASSERT_TRUE(test::run_until(bed.context, [&held] { return held.size() == 1; }));
  asio::ip::tcp::socket idle(bed.context);
  idle.connect(bed.endpoint);
  ASSERT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().connections == 2; }));
  bool closed = false;
  bed.server->close(std::chrono::steady_clock::now() + std::chrono::seconds(60), [&closed] { closed = true; });
  ASSERT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().connections == 1; }));
  EXPECT_FALSE(closed);
  error_code refused;
  asio::ip::tcp::socket late(bed.context);
  late.connect(bed.endpoint, refused);
  EXPECT_EQ(refused, asio::error::connection_refused);
  held[0].reply(sample<GETATTR3res>());
  ASSERT_TRUE(test::run_until(bed.context, [&] { return closed && answered.has_value(); }));
  EXPECT_FALSE(*answered) << answered->message();
}

TEST(TcpTest, ClosingEndsAtItsDeadline) {
  TcpBed bed;
  std::vector<ServerCall<nfs3::Getattr>> held;
  bed.dispatcher.on<nfs3::Getattr>([&held](ServerCall<nfs3::Getattr> call) { held.push_back(std::move(call)); });
  std::optional<error_code> answered;
  bed.client->async_call<nfs3::Getattr>(sample<GETATTR3args>(),
                                        [&answered](error_code status, Decoded<GETATTR3res>) { answered = status; });
  ASSERT_TRUE(test::run_until(bed.context, [&held] { return held.size() == 1; }));
  bool closed = false;
  bed.server->close(std::chrono::steady_clock::now(), [&closed] { closed = true; });
  ASSERT_TRUE(test::run_until(bed.context, [&] { return closed && answered.has_value(); }));
  EXPECT_TRUE(*answered);
  held.clear();
  test::run_ready(bed.context);
}

TEST(TcpTest, ThreadsServeInTurn) {
  struct Thread {
    asio::io_context context{1};
    fabric::LoopbackNetwork network{context};
    std::unique_ptr<fabric::LoopbackFabric> fabric = network.make_fabric();
    memory::Pool pool{*fabric};
    Dispatcher dispatcher;
    std::atomic<int> calls{0};
    std::thread thread;
  };
  std::array<Thread, 3> threads;
  std::vector<TcpWorker> workers;
  for (Thread& t : threads) {
    t.dispatcher.on<nfs3::Getattr>([&t](ServerCall<nfs3::Getattr> call) {
      EXPECT_EQ(std::this_thread::get_id(), t.thread.get_id());
      ++t.calls;
      call.reply(sample<GETATTR3res>());
    });
    workers.push_back({&t.context, &t.pool, &t.dispatcher});
  }
  auto server = TcpServer::make(workers, {}, {});
  const auto bound = server->listen({asio::ip::make_address("127.0.0.1"), 0});
  ASSERT_TRUE(bound);
  for (Thread& t : threads) {
    t.thread = std::thread([&t] {
      const auto guard = asio::make_work_guard(t.context);
      t.context.run();
    });
  }
  asio::io_context context;
  std::vector<std::unique_ptr<TcpRequester>> requesters;
  std::vector<std::unique_ptr<Client>> clients;
  int good = 0;
  for (int i = 0; i < 6; ++i) {
    requesters.push_back(TcpRequester::make(context, *bound));
    const ClientOptions options{.credential = Credential::sys(1, 1)};
    clients.push_back(std::make_unique<Client>(*requesters.back(), context.get_executor(), options));
    clients.back()->async_call<nfs3::Getattr>(sample<GETATTR3args>(), [&good](error_code status, Decoded<GETATTR3res>) {
      EXPECT_FALSE(status);
      ++good;
    });
  }
  EXPECT_TRUE(test::run_until(context, [&good] { return good == 6; }));
  for (Thread& t : threads) EXPECT_EQ(t.calls, 2);
  std::promise<void> closed;
  server->close(std::chrono::steady_clock::now() + std::chrono::seconds(60), [&closed] { closed.set_value(); });
  closed.get_future().get();
  EXPECT_EQ(server->counters().connections, 0u);
  for (Thread& t : threads) t.context.stop();
  for (Thread& t : threads) t.thread.join();
}

TEST(TcpTest, ConnectionsOfOnePeerAreBounded) {
  TcpBed bed({.max_connections_per_peer = 1});
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    const asio::ip::tcp::endpoint local(asio::ip::make_address("127.0.0.2"), 0);
    asio::ip::tcp::socket first(b.context);
    asio::ip::tcp::socket second(b.context);
    asio::ip::tcp::socket other(b.context, local);
    co_await first.async_connect(b.endpoint, asio::use_awaitable);
    co_await second.async_connect(b.endpoint, asio::use_awaitable);
    char back = 0;
    auto [status, size] = co_await second.async_read_some(asio::buffer(&back, 1), kTuple);
    EXPECT_TRUE(status);
    co_await other.async_connect(b.endpoint, asio::use_awaitable);
  }(bed));
  EXPECT_TRUE(test::run_until(bed.context, [&bed] { return bed.server->counters().accepted == 2; }));
  EXPECT_EQ(bed.server->counters().refused, 1u);
}

TEST(TcpTest, ConnectionsAreBounded) {
  TcpBed bed({.max_connections = 2});
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    asio::ip::tcp::socket first(b.context);
    asio::ip::tcp::socket second(b.context);
    asio::ip::tcp::socket third(b.context);
    co_await first.async_connect(b.endpoint, asio::use_awaitable);
    co_await second.async_connect(b.endpoint, asio::use_awaitable);
    co_await third.async_connect(b.endpoint, asio::use_awaitable);
    char back = 0;
    auto [status, size] = co_await third.async_read_some(asio::buffer(&back, 1), kTuple);
    EXPECT_TRUE(status);
    const TcpServer::Counters counters = b.server->counters();
    EXPECT_EQ(counters.connections, 2u);
    EXPECT_EQ(counters.accepted, 2u);  // the refused connection does not count as accepted
    EXPECT_EQ(counters.refused, 1u);
  }(bed));
}

TEST(TcpTest, ConnectionsAreReported) {
  TcpBed bed;
  bed.run([](TcpBed& b) -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) co_await b.client->async_call<nfs3::Null>({}, kTuple);
    const auto found = b.server->report(0, 4);
    EXPECT_EQ(found.size(), 1u);
    if (found.empty()) co_return;
    EXPECT_NE(found[0].number, 0u);
    EXPECT_EQ(found[0].fabric, "tcp");
    EXPECT_EQ(found[0].peer.address().to_string(), "127.0.0.1");
    EXPECT_EQ(found[0].statistics.calls, 3u);
    EXPECT_EQ(found[0].traffic.calls, 3u);
    EXPECT_GT(found[0].traffic.receive_bytes, 3u * 40);
    EXPECT_GT(found[0].traffic.send_bytes, 3u * 24);
    EXPECT_TRUE(b.server->report(0, 0).empty());
  }(bed));
}

}  // namespace
}  // namespace rpcrdma::rpc
