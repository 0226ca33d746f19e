// SPDX-License-Identifier: BSD-3-Clause
// A client and a server of one service in one process. They use the layers below rpcrdma::Client and rpcrdma::Server,
// with the installed headers alone.
// usage: roundtrip [PROVIDER [ADDRESS]]
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cstdio>
#include <string>

#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "rpcrdma/xdr/bulk.hpp"

namespace asio = boost::asio;
using namespace rpcrdma;

struct FetchArgs {
  u_int count;
};
struct FetchResult {
  bulk_data data;
};
bool_t xdr_fetch_args(XDR* xdrs, FetchArgs* args) { return xdr_u_int(xdrs, &args->count); }
bool_t xdr_fetch_result(XDR* xdrs, FetchResult* result) { return xdr_bulk_data(xdrs, &result->data); }
rpc::ReplyBound fetch_bound(const FetchArgs& args) { return {.fixed = 64, .bulk = {(args.count + 3) / 4 * 4}}; }
constexpr std::uint32_t kProgram = 0x20004d40;
RPCRDMA_PROCEDURE(Fetch, (kProgram, 1, 1, "FETCH", 0, 1, true, rpc::AuthRequirement::none), FetchArgs, xdr_fetch_args,
                  FetchResult, xdr_fetch_result, fetch_bound);
RPCRDMA_PROCEDURE(Missing, (kProgram, 1, 2, "MISSING", 0, 1, true, rpc::AuthRequirement::none), FetchArgs,
                  xdr_fetch_args, FetchResult, xdr_fetch_result, fetch_bound);

asio::awaitable<void> serve_fetch(rpc::ServerCall<Fetch> call) {
  const std::uint32_t count = call.args().count;
  co_await call.async_reserve(count, asio::use_awaitable);
  auto data = std::make_unique<memory::RegisteredBuffer>(std::move(*call.pool().allocate(count)));
  for (std::byte& byte : data->octets()) byte = std::byte{0x5a};
  const BufferRef part = data->ref();
  FetchResult result{};
  result.data.set_parts({&part, 1});
  call.reply(result, [data = std::move(data)](error_code) {});
}

// Returns true if the data is placed, and if an error of the library can be caught and compared.
asio::awaitable<bool> ask(rpc::Client& client, memory::Pool& pool) {
  constexpr u_int kSize = 1 << 20;
  const memory::RegisteredBuffer buffer = std::move(*pool.allocate(kSize));
  const BufferRef into = buffer.ref();
  auto reply = co_await client.async_call<Fetch>({kSize}, rpc::CallOptions().into({&into, 1}), asio::use_awaitable);
  bool good = reply->data.kind == bulk_kind::placed && reply->data.length == kSize;
  for (const std::byte byte : buffer.octets().first(kSize)) good = good && byte == std::byte{0x5a};
  bool caught = false;
  try {
    co_await client.async_call<Missing>({1}, asio::use_awaitable);
  } catch (const boost::system::system_error& error) {
    caught = error.code() == Condition::give_up;
    std::printf("no such procedure: %s\n", error.code().message().c_str());
  }
  co_return good&& caught;
}

int main(int argc, char** argv) {
  asio::io_context context;
  fabric::OpenOptions options;
  if (!fabric::parse_provider(argc > 1 ? argv[1] : "iwarp", options.provider)) return 2;
  const auto address = asio::ip::make_address(argc > 2 ? argv[2] : "127.0.0.1");
  const Log log(make_stderr_sink(LogLevel::warn, "roundtrip"));
  auto fabric = fabric::open(context, address, options, log);
  if (!fabric) {
    std::printf("no fabric: %s\n", fabric.error().message().c_str());
    return 1;
  }
  memory::Pool pool(**fabric);
  rpc::DuplicateCache cache;
  rpc::Dispatcher dispatcher({.cache = &cache, .log = log});
  dispatcher.on<Fetch>(serve_fetch);
  auto server = transport::Server::make({{fabric->get(), &pool, &dispatcher}}, {}, log);
  fabric::Endpoint endpoint;
  server->listen({address, 0}, [&](Result<fabric::Endpoint> bound) { endpoint = bound.value(); });
  while (endpoint.port() == 0) context.run_one();

  auto connection = transport::Client::make(**fabric, pool, endpoint, {}, log);
  rpc::Client client(connection->requester(), context.get_executor());
  bool done = false, good = false;
  asio::co_spawn(context, ask(client, pool), [&](std::exception_ptr failed, bool answer) {
    done = true;
    good = !failed && answer;
  });
  while (!done) context.run_one();
  std::printf("%s: %s\n", (*fabric)->capabilities().name.data(), good ? "received what was sent" : "failed");
  return good ? 0 : 1;
}
