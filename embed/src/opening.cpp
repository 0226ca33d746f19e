// SPDX-License-Identifier: BSD-3-Clause
// Operation: the name is resolved to at most kMaxAddresses addresses. If no port was given, rpcbind at each address is
// asked for it. If there are several endpoints ("localhost" is ::1 and 127.0.0.1), a NULL call is sent to each of them
// at once; the first one that answers is used.
// Ownership: a Knock is a call and owns the backend that sends the call; destroying the backend completes the call.
// Error handling: if all NULL calls fail, the error for the last endpoint is reported: that of its RDMA connection or,
// if there is none, that of its call. If no fabric can be opened, the error of the last attempt is reported. If no
// rpcbind names a port, the first error other than no_rpcbind is reported or, if there is none, no_rpcbind.
#include "opening.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <optional>

#include "rpcrdma/rpc/rpcbind_lookup.hpp"

namespace rpcrdma::embed {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kMaxAddresses = 4;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

asio::awaitable<Result<std::vector<fabric::Endpoint>>> resolve(asio::io_context& context, const Target& target) {
  tcp::resolver resolver(context);
  // The text of the port is in a named variable, because GCC 12 destroys temporaries in a co_await expression twice.
  const std::string port = std::to_string(target.address.port.value_or(0));
  const auto [failed, found] =
      co_await resolver.async_resolve(target.address.host, port, tcp::resolver::numeric_service, kTuple);
  if (failed) co_return failed;
  std::vector<fabric::Endpoint> endpoints;
  for (const auto& entry : found) {
    if (endpoints.size() < kMaxAddresses && std::ranges::find(endpoints, entry.endpoint()) == endpoints.end())
      endpoints.push_back(entry.endpoint());
  }
  co_return endpoints;
}

/// Asks rpcbind at each address for the port. Returns the endpoints whose port is known. [8166-9-a]
asio::awaitable<Result<std::vector<fabric::Endpoint>>> with_ports(asio::io_context& context, const Target& target,
                                                                  std::vector<fabric::Endpoint> endpoints) {
  if (target.procedure == nullptr) {
    target.options.log.error(
        "{}: no port is given, and rpcbind cannot be asked before a call names the program: give the port, or make a "
        "call first",
        target.address.host);
    co_return make_error_code(BaseError::invalid_argument);
  }
  std::vector<fabric::Endpoint> known;
  error_code failed = rpc::RpcError::no_rpcbind;
  for (const fabric::Endpoint& endpoint : endpoints) {
    std::string netid = target.address.carrier.tcp ? "tcp" : "rdma";
    if (endpoint.address().is_v6()) netid += '6';
    const fabric::Endpoint rpcbind(endpoint.address(), target.options.rpcbind_port);
    const Result<std::uint16_t> port = co_await rpc::lookup_port(
        context, rpcbind, target.procedure->program, target.procedure->version, netid, target.options.lookup_timeout);
    if (port) known.emplace_back(endpoint.address(), *port);
    if (!port && failed == rpc::RpcError::no_rpcbind) failed = port.error();
  }
  if (known.empty()) co_return failed;
  co_return known;
}

Result<Backend> backend_for(asio::io_context& context, std::shared_ptr<Loop> loop, const Target& target,
                            const fabric::Endpoint& server) {
  const bool over_tcp = target.address.carrier.tcp;
  fabric::OpenOptions open{.provider = target.address.carrier.provider,
                           .crc = target.options.crc,
                           .towards = true,
                           .tap = target.options.tap};
  asio::ip::address towards = server.address();
  if (over_tcp) {  // over TCP, the fabric serves only to register memory for bulk data
    open.provider = fabric::Provider::iwarp;
    towards = asio::ip::address_v4::loopback();
    open.tap = nullptr;
  }
  auto fabric = fabric::open(context, towards, open, target.options.log);
  if (!fabric) return fabric.error();
  Backend backend;
  backend.server = server;
  const auto wanted = memory::within_limit(target.options.memory, (*fabric)->capabilities(), 1);
  auto pool = std::make_unique<memory::Pool>(**fabric, wanted);
  backend.memory = std::make_shared<Memory>(Memory{std::move(loop), std::move(*fabric), std::move(pool)});
  if (over_tcp) {
    backend.tcp = rpc::TcpRequester::make(context, server, target.options.tcp);
    return backend;
  }
  transport::ClientOptions rdma = target.options.rdma;
  rdma.connection.credits = target.options.credits;
  rdma.connection.send_size = rdma.connection.receive_size = target.options.inline_threshold;
  rdma.connection.version = target.options.version;
  backend.rdma =
      transport::Client::make(*backend.memory->fabric, *backend.memory->pool, server, rdma, target.options.log);
  return backend;
}

/// A NULL call that tests whether one endpoint answers.
class Knock final : public transport::Call {
 public:
  /// Submits the call to `opened`. When the call is over, cancels the timer `ended`, which wakes the coroutine that
  /// waits for it.
  Knock(Backend opened, const rpc::ProcedureInfo& procedure, std::chrono::steady_clock::time_point until,
        asio::steady_timer& ended)
      : backend(std::move(opened)), procedure_(procedure), ended_(ended) {
    xid = backend.requester().next_xid();
    deadline = until;
    backend.requester().submit(*this);
  }
  /// Ends the call, if it is not over, while the members that done() sets still exist.
  ~Knock() { const Backend ending = std::move(backend); }
  Knock(const Knock&) = delete;
  Knock& operator=(const Knock&) = delete;
  void encode(PayloadBuilder& out) noexcept override {
    xdr::Encoder message(out);
    rpc::encode(message, rpc::CallHeader{xid, rpc::kRpcVersion, procedure_.program, procedure_.version, 0, {}});
  }
  /// Any RPC reply, even one that rejects the call, shows that a server answers at this endpoint.
  void done(error_code status, const Payload* reply) noexcept override {
    over = true;
    answered = reply != nullptr;
    failed = status;
    if (!answered && backend.rdma && backend.rdma->last_error()) failed = backend.rdma->last_error();
    ended_.cancel();
  }

  Backend backend;
  bool over = false;
  bool answered = false;
  error_code failed;

 private:
  const rpc::ProcedureInfo& procedure_;
  asio::steady_timer& ended_;
};

asio::awaitable<Result<Backend>> first_to_answer(asio::io_context& context, const Target& target,
                                                 std::vector<Backend> backends) {
  asio::steady_timer ended(context, asio::steady_timer::time_point::max());
  // The NULL procedure of program 0, for a caller that has named no program yet. A server may reject the call, but any
  // RPC reply shows that a server answers.
  static constexpr rpc::ProcedureInfo kUnknown;
  const auto until = std::chrono::steady_clock::now() + target.options.lookup_timeout;
  std::list<Knock> knocks;
  for (Backend& backend : backends)
    knocks.emplace_back(std::move(backend), target.procedure ? *target.procedure : kUnknown, until, ended);
  for (;;) {
    const auto found = std::ranges::find_if(knocks, &Knock::answered);
    if (found != knocks.end()) co_return std::move(found->backend);
    if (std::ranges::all_of(knocks, &Knock::over)) co_return knocks.back().failed;
    static_cast<void>(co_await ended.async_wait(kTuple));
  }
}

}  // namespace

asio::awaitable<Result<Backend>> open_backend(asio::io_context& context, std::shared_ptr<Loop> loop, Target target) {
  Result<std::vector<fabric::Endpoint>> endpoints = co_await resolve(context, target);
  if (endpoints && !target.address.port) endpoints = co_await with_ports(context, target, std::move(*endpoints));
  if (!endpoints) co_return endpoints.error();
  std::vector<Backend> backends;
  error_code failed;
  for (const fabric::Endpoint& endpoint : *endpoints) {
    Result<Backend> made = backend_for(context, loop, target, endpoint);
    if (made) backends.push_back(std::move(*made));
    if (!made) failed = made.error();
  }
  if (backends.empty()) co_return failed;
  // A single endpoint is not tested: calls wait for its connection until their deadlines.
  if (backends.size() == 1) co_return std::move(backends.front());
  co_return co_await first_to_answer(context, target, std::move(backends));
}

}  // namespace rpcrdma::embed
