// SPDX-License-Identifier: BSD-3-Clause
// Operation: READ answers from one registered buffer, by reference; WRITE reserves bulk room, takes a buffer
// from the pool, has the data brought there, and answers.
// Ownership: a WRITE's buffer belongs to its completion, and goes back to the pool when the data has arrived.
// Error handling: a call that cannot be served is dropped, which answers SYSTEM_ERR.
#include "rpcrdma_server.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <stdexcept>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "service.hpp"

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kMaxData = 1u << 20;
constexpr std::uint32_t kMaxConnections = 4096;

void register_read(rpc::Dispatcher& dispatcher, const BufferRef& source) {
  dispatcher.on<service::Read>([&source](rpc::ServerCall<service::Read> call) {
    if (call.args().count > source.size) return call.reject(rpc::AcceptStat::garbage_args);
    const BufferRef part = source.slice(0, call.args().count);
    service::Data result{};
    // The array that names the part has to last as long as the part: it travels with the release handler.
    auto parts = std::make_unique<BufferRef>(part);
    result.data.set_parts({parts.get(), 1});
    call.reply(result, [parts = std::move(parts)](error_code) {});
  });
}

/// Where a WRITE's data goes; stays where it is while the data is on its way.
struct Landing {
  memory::RegisteredBuffer buffer;
  BufferRef ref;
};

void take_data(rpc::ServerCall<service::Write> call) {
  const bulk_data& data = call.args().data;
  Result<memory::RegisteredBuffer> buffer = call.pool().allocate(data.length);
  if (!buffer) return;
  auto landing = std::make_unique<Landing>();
  landing->buffer = std::move(*buffer);
  landing->ref = landing->buffer.ref();
  const std::span<const BufferRef> into(&landing->ref, 1);
  rpc::async_fetch(std::move(call), data, into,
                   [landing = std::move(landing)](error_code failed, rpc::ServerCall<service::Write> fetched) {
                     if (!failed) fetched.reply({});
                   });
}

void register_write(rpc::Dispatcher& dispatcher) {
  dispatcher.on<service::Write>([](rpc::ServerCall<service::Write> call) {
    const std::uint32_t length = call.args().data.length;
    if (length > kMaxData) return call.reject(rpc::AcceptStat::garbage_args);
    rpc::async_reserve(std::move(call), length, [](error_code failed, rpc::ServerCall<service::Write> reserved) {
      if (!failed) take_data(std::move(reserved));
    });
  });
}

}  // namespace

void serve_rpcrdma(const fabric::OpenOptions& options, Board& board, const Child::Ready& ready) {
  boost::asio::io_context context(1);
  const auto address = boost::asio::ip::make_address("127.0.0.1");
  auto fabric = fabric::open(context, address, options, Log());
  if (!fabric) throw std::runtime_error(fabric.error().message());
  memory::Pool pool(**fabric);
  auto source = pool.allocate(kMaxData);
  if (!source) throw std::runtime_error(source.error().message());
  std::ranges::fill(source->octets(), std::byte{'r'});
  const BufferRef data = source->ref();
  rpc::Dispatcher dispatcher;
  register_read(dispatcher, data);
  register_write(dispatcher);
  transport::ServerOptions server_options;
  server_options.connection.credits = kCredits;
  server_options.max_connections = server_options.max_connections_per_peer = kMaxConnections;
  const auto server = transport::Server::make({{fabric->get(), &pool, &dispatcher}}, server_options, Log());
  dispatcher.on<service::Publish>([&](rpc::ServerCall<service::Publish> call) {
    board.receive_octets = server->counters().receive_octets;
    call.reply({});
  });
  server->listen({address, 0}, [&](Result<fabric::Endpoint> listening) {
    if (!listening) throw std::runtime_error(listening.error().message());
    ready(listening->port());
  });
  Runner(context).run();
}

}  // namespace rpcrdma::bench
