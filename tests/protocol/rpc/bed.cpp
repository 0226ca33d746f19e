// SPDX-License-Identifier: BSD-3-Clause
#include "bed.hpp"

namespace rpcrdma::test {
namespace {

namespace asio = boost::asio;

/// Keeps the memory of a result until the reply has been sent.
struct Sending {
  memory::RegisteredBuffer memory;
  BufferRef part;
};

Sending make_result(memory::Pool& pool, std::uint32_t size, std::uint64_t seed) {
  Sending sending;
  if (size == 0) return sending;
  sending.memory = std::move(*pool.allocate(size));
  sending.part = sending.memory.ref();
  fill_pattern(sending.memory.octets(), seed);
  return sending;
}

asio::awaitable<void> serve_two(rpc::ServerCall<Two> call) {
  const TwoArgs args = call.args();
  co_await call.async_reserve(args.first + args.second, asio::use_awaitable);
  auto first = std::make_unique<Sending>(make_result(call.pool(), args.first, kFirstSeed));
  auto second = std::make_unique<Sending>(make_result(call.pool(), args.second, kSecondSeed));
  TwoResult result{};
  if (args.first != 0) result.first.set_parts({&first->part, 1});
  if (args.second != 0) result.second.set_parts({&second->part, 1});
  result.between = 4711;
  result.behind.set("the end");
  call.reply(result, [first = std::move(first), second = std::move(second)](error_code) {});
}

asio::awaitable<void> serve_join(rpc::ServerCall<Join> call) {
  const JoinArgs& args = call.args();
  JoinResult result{args.between, 0};
  const std::uint32_t total = args.first.length + args.second.length;
  if (total != 0) co_await call.async_reserve(total, asio::use_awaitable);
  // The loop must not iterate over a braced list: GCC 12 would keep the elements of the list on the stack, where they
  // are lost at co_await. A named array belongs to the coroutine frame.
  const std::array both{&args.first, &args.second};
  for (const bulk_data* data : both) {
    if (data->length == 0) continue;
    const memory::RegisteredBuffer to = std::move(*call.pool().allocate(data->length));
    const BufferRef part = to.ref();
    co_await call.async_fetch(*data, {&part, 1}, asio::use_awaitable);
    result.length += data->length;
    for (const std::byte octet : to.octets()) result.sum += static_cast<std::uint8_t>(octet);
  }
  call.reply(result);
}

}  // namespace

Bed::Bed(transport::ClientOptions client_options, transport::ServerOptions server_options) {
  serve();
  server = transport::Server::make({{server_fabric.get(), &server_pool, &dispatcher}}, server_options, {});
  fabric::Endpoint endpoint;
  server->listen({boost::asio::ip::make_address("127.0.0.1"), 0}, [&endpoint](Result<fabric::Endpoint> bound) {
    ASSERT_TRUE(bound);
    endpoint = *bound;
  });
  EXPECT_TRUE(wait([&endpoint] { return endpoint.port() != 0; }));
  connection = transport::Client::make(*client_fabric, client_pool, endpoint, client_options, {});
  client.emplace(connection->requester(), context.get_executor());
}

Bed::~Bed() {
  held.clear();
  client.reset();
  connection.reset();
  run_ready(context);
  server.reset();
  run_ready(context);
  EXPECT_EQ(client_pool.counters().lent, 0u);
  EXPECT_EQ(server_pool.counters().lent, 0u);
}

void Bed::serve() {
  dispatcher.on<Two>([](rpc::ServerCall<Two> call) { return serve_two(std::move(call)); });
  dispatcher.on<Join>([](rpc::ServerCall<Join> call) { return serve_join(std::move(call)); });
  dispatcher.on<Count>([this](rpc::ServerCall<Count> call) {
    const CountResult result{total += call.args().add};
    if (hold_counts) {
      held.emplace_back(std::move(call), result);
    } else {
      call.reply(result);
    }
  });
}

}  // namespace rpcrdma::test
