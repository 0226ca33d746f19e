// SPDX-License-Identifier: BSD-3-Clause
// Operation: the services of the file server on a memory export, and the procedures of service.hpp, on one fabric.
// Ownership: handlers are coroutines that refer to the ServerLife, which is destroyed only when no handler is left.
// Error handling: a handler drops its call if the reservation fails, and rejects it if an allocation or a Read fails.
#include "server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "random.hpp"

namespace rpcrdma::sim {

namespace asio = boost::asio;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

transport::ServerOptions options_of(const Setup& setup, std::uint32_t credits) {
  transport::ServerOptions out;
  out.connection = setup.server;
  out.connection.credits = credits;
  out.bulk_budget = setup.bulk_budget;
  out.idle_grace = std::chrono::milliseconds(500);
  return out;
}

}  // namespace

/// Counts a coroutine while it exists.
struct ServerLife::Running {
  explicit Running(ServerLife& life) : of(life) { ++of.handlers_; }
  ~Running() { --of.handlers_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ServerLife& of;
};

ServerLife::ServerLife(Stage& stage, const nfsd::ExportTable& exports, nfsd::IoPool& io,
                       const nfsd::HandleSecret& secret, std::uint32_t credits)
    : stage_(stage),
      fabric_(stage.network.make_fabric("server", stage.setup().server_device)),
      pool_(*fabric_, {stage.setup().server_pool}),
      duplicates_({.max_age = std::chrono::hours(24)}),
      nfs_(exports, io, secret, *fabric_, stage.log),
      mount_(exports, io, mounts_, secret, stage.log),
      dispatcher_({.cache = &duplicates_, .log = stage.log}),
      waits_(stage.context),
      drain_(stage.context) {
  ++stage_.server_lives;
  stage_.runs.clear();
  nfs_.add_to(dispatcher_);
  mount_.add_to(dispatcher_);
  serve();
  server_ =
      transport::Server::make({{fabric_.get(), &pool_, &dispatcher_}}, options_of(stage.setup(), credits), stage.log);
  listen();
}

/// Makes the server listen. A fault may make this fail. The server then tries again, as if a service manager restarted
/// it, except if the device is lost or the server is closing.
void ServerLife::listen() {
  server_->listen(stage_.endpoint, [this](Result<fabric::Endpoint> bound) {
    const bool lost = !bound && bound.error() == fabric::FabricError::device_lost;
    if (bound || lost || closing_) return;
    stage_.trace.note("server: listen: {}", bound.error().message());
    stage_.trace.require(stage_.plan.fails_operations(), invariant::kAlive, "the server cannot listen: {}",
                         bound.error().message());
    listen();
  });
}

ServerLife::~ServerLife() = default;

void ServerLife::close(std::chrono::milliseconds limit, UniqueFunction<void()> closed) {
  closing_ = true;
  stage_.trace.note("server closes");
  server_->close(std::chrono::steady_clock::now() + limit, std::move(closed));
}

void ServerLife::crash(UniqueFunction<void()> closed) {
  fabric_->lose_device();
  waits_.end();
  if (!closing_) close({}, std::move(closed));
}

void ServerLife::end() {
  stage_.trace.note("server ends");
  server_.reset();
  waits_.end();
  drain_.start();
}

void ServerLife::serve() {
  dispatcher_.on<Once>([this](rpc::ServerCall<Once> call) { return once(std::move(call)); });
  dispatcher_.on<Store>([this](rpc::ServerCall<Store> call) { return store(std::move(call)); });
  dispatcher_.on<Fetch>([this](rpc::ServerCall<Fetch> call) { return fetch(std::move(call)); });
  dispatcher_.on<Watch>([this](rpc::ServerCall<Watch> call) { return watch(std::move(call)); });
}

void ServerLife::run(std::uint64_t token, std::string_view what) {
  stage_.trace.note("server runs {} {:x}", what, token);
  stage_.ever_run.insert(token);
  // A handler may still run after this server has ended. stage_.runs may then already count for the next server.
  if (ended()) return;
  const std::uint32_t times = ++stage_.runs[token];
  stage_.trace.require(times == 1, invariant::kExecutedOnce, "{} {:x} runs {} times", what, token, times);
}

asio::awaitable<void> ServerLife::once(rpc::ServerCall<Once> call) {
  const Running running(*this);
  const std::uint64_t token = call.args().token;
  run(token, "ONCE");
  const std::string_view ballast = call.args().ballast.view();
  stage_.trace.require(matches(std::as_bytes(std::span(ballast)), token), invariant::kBytes,
                       "ballast of ONCE {:x} at the server", token);
  co_await waits_.wait(std::chrono::milliseconds(call.args().hold));
  call.reply({token});
}

asio::awaitable<void> ServerLife::store(rpc::ServerCall<Store> call) {
  const Running running(*this);
  const StoreArgs& args = call.args();
  const std::uint64_t token = args.token;
  const std::uint32_t total = args.first.length + args.second.length;
  if (total != 0) {
    const auto [failed] = co_await call.async_reserve(total, kTuple);
    if (failed) co_return;
  }
  const std::array both{&args.first, &args.second};
  std::array<memory::RegisteredBuffer, 2> data;
  for (std::size_t i = 0; i < both.size(); ++i) {
    if (both[i]->length == 0) continue;
    auto memory = call.pool().allocate(both[i]->length);
    if (!memory) co_return call.reject(rpc::AcceptStat::system_err);
    data[i] = std::move(*memory);
    const BufferRef part = data[i].ref();
    const auto [failed] = co_await call.async_fetch(*both[i], {&part, 1}, kTuple);
    if (failed) co_return call.reject(rpc::AcceptStat::system_err);
  }
  run(token, "STORE");
  for (std::size_t i = 0; i < both.size(); ++i)
    stage_.trace.require(!data[i] || matches(data[i].octets(), token + i), invariant::kBytes,
                         "item {} of STORE {:x} at the server", i, token);
  call.reply({token});
}

asio::awaitable<void> ServerLife::fetch(rpc::ServerCall<Fetch> call) {
  const Running running(*this);
  const FetchArgs args = call.args();
  const std::array lengths{args.first, args.second};
  std::array<memory::RegisteredBuffer, 2> data;
  std::array<BufferRef, 2> parts;
  if (args.first + args.second != 0) {
    const auto [failed] = co_await call.async_reserve(args.first + args.second, kTuple);
    if (failed) co_return;
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (lengths[i] == 0) continue;
    auto memory = call.pool().allocate(lengths[i]);
    if (!memory) co_return call.reject(rpc::AcceptStat::system_err);
    data[i] = std::move(*memory);
    parts[i] = data[i].ref();
    fill(data[i].octets(), args.token + i);
  }
  FetchResult result{};
  result.token = args.token;
  auto kept = std::make_unique<std::pair<decltype(data), decltype(parts)>>(std::move(data), parts);
  if (lengths[0] != 0) result.first.set_parts({&kept->second[0], 1});
  if (lengths[1] != 0) result.second.set_parts({&kept->second[1], 1});
  call.reply(result, [kept = std::move(kept)](error_code) {});
}

asio::awaitable<void> ServerLife::watch(rpc::ServerCall<Watch> call) {
  const Running running(*this);
  const WatchArgs args = call.args();
  run(args.token, "WATCH");
  const rpc::ReverseClient client = call.reverse_client({.timeout = std::chrono::milliseconds(2000)});
  if (args.first == 0) call.reply({args.token});
  for (std::uint32_t i = 0; i < args.calls; ++i)
    co_await ping(client, std::uint64_t{stage_.server_lives} << 48 | (args.token + i));
  if (call) call.reply({args.token});
}

asio::awaitable<void> ServerLife::ping(rpc::ReverseClient client, std::uint64_t token) {
  OnceArgs args{};
  args.token = token;
  args.hold = token % 3 == 0 ? 20 : 0;
  const auto [failed, reply] = co_await client.call<Ping>(args, kTuple);
  stage_.trace.note("server: PING {:x}: {}", token, failed.message());
  if (!failed)
    stage_.trace.require(reply->token == token, invariant::kBytes, "PING {:x} is answered with {:x}", token,
                         reply->token);
}

}  // namespace rpcrdma::sim
