// SPDX-License-Identifier: BSD-3-Clause
// Operation: READ replies from one registered buffer, by reference; WRITE reserves its part of the bulk budget,
// allocates a buffer from the pool, fetches the data into it, and replies.
// Ownership: a call borrows a Landing; a WRITE's buffer goes back to the pool when the data has arrived.
// Error handling: a call with too many bytes gets GARBAGE_ARGS. A call that cannot be served is destroyed unanswered;
// the library then replies SYSTEM_ERR.
#include "rpcrdma_server.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <vector>

#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/memory/pool.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "service.hpp"
#include "tapped.hpp"

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kMaxData = 1u << 20;
constexpr std::uint32_t kMaxConnections = 16384;

/// Describes the memory for the data of one call, which is the source of a READ or the destination of a WRITE. When the
/// data has been transferred, the object returns to Landings, which lends it to a later call.
struct Landing {
  memory::RegisteredBuffer buffer;  // owns the destination of a WRITE; empty for a READ
  BufferRef ref;
};

class Landings {
 public:
  Landing& take() {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Landing>());
      idle_.reserve(all_.size());
      return *all_.back();
    }
    Landing& landing = *idle_.back();
    idle_.pop_back();
    return landing;
  }
  void give_back(Landing& landing) {
    landing.buffer.reset();
    idle_.push_back(&landing);
  }

 private:
  std::vector<std::unique_ptr<Landing>> all_;
  std::vector<Landing*> idle_;
};

void register_read(rpc::Dispatcher& dispatcher, const BufferRef& source, Landings& landings) {
  dispatcher.on<service::Read>([&source, &landings](rpc::ServerCall<service::Read> call) {
    if (call.args().count > source.size) return call.reject(rpc::AcceptStat::garbage_args);
    Landing& landing = landings.take();
    landing.ref = source.slice(0, call.args().count);
    service::Data result{};
    result.data.set_parts({&landing.ref, 1});
    call.reply(result, [&landings, &landing](error_code) { landings.give_back(landing); });
  });
}

void take_data(rpc::ServerCall<service::Write> call, Landings& landings) {
  const bulk_data& data = call.args().data;
  Result<memory::RegisteredBuffer> buffer = call.pool().allocate(data.length);
  if (!buffer) return;
  Landing& landing = landings.take();
  landing.buffer = std::move(*buffer);
  landing.ref = landing.buffer.ref();
  const std::span<const BufferRef> into(&landing.ref, 1);
  rpc::async_fetch(std::move(call), data, into,
                   [&landings, &landing](error_code failed, rpc::ServerCall<service::Write> fetched) {
                     landings.give_back(landing);
                     if (!failed) fetched.reply({});
                   });
}

void register_write(rpc::Dispatcher& dispatcher, Landings& landings) {
  dispatcher.on<service::Write>([&landings](rpc::ServerCall<service::Write> call) {
    const std::uint32_t length = call.args().data.length;
    if (length > kMaxData) return call.reject(rpc::AcceptStat::garbage_args);
    rpc::async_reserve(std::move(call), length,
                       [&landings](error_code failed, rpc::ServerCall<service::Write> reserved) {
                         if (!failed) take_data(std::move(reserved), landings);
                       });
  });
}

}  // namespace

void serve_rpcrdma(const Setting& setting, Board& board, const Child::Ready& ready) {
  boost::asio::io_context context(1);
  const auto address = boost::asio::ip::make_address("127.0.0.1");
  const fabric::OpenOptions open = with_capture(setting.open, setting.server_capture);
  auto fabric = fabric::open(context, address, open, Log());
  if (!fabric) throw std::runtime_error(fabric.error().message());
  memory::Pool pool(**fabric, {setting.pool_octets});
  auto source = pool.allocate(kMaxData);
  if (!source) throw std::runtime_error(source.error().message());
  std::ranges::fill(source->octets(), std::byte{'r'});
  const BufferRef data = source->ref();
  Landings landings;
  rpc::Dispatcher dispatcher;
  register_read(dispatcher, data, landings);
  register_write(dispatcher, landings);
  transport::ServerOptions server_options;
  server_options.connection.credits = kCredits;
  server_options.connection.version = setting.server;
  setting.apply_thresholds(server_options.connection);
  server_options.max_connections = server_options.max_connections_per_peer = kMaxConnections;
  const auto server = transport::Server::make({{fabric->get(), &pool, &dispatcher}}, server_options, Log());
  dispatcher.on<service::Publish>([&](rpc::ServerCall<service::Publish> call) {
    board.fabric = (*fabric)->counters();
    board.receive_bytes = server->counters().receive_octets;
    board.connections = server->counters().connections;
    call.reply({});
  });
  server->listen({address, 0}, [&](Result<fabric::Endpoint> listening) {
    if (!listening) throw std::runtime_error(listening.error().message());
    ready(listening->port());
  });
  Runner(context, setting.poll).run();
}

}  // namespace rpcrdma::bench
