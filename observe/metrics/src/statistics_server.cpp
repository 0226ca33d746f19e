// SPDX-License-Identifier: BSD-3-Clause
// Operation: one coroutine accepts connections, one for each connection reads requests and answers them. A report is
// requested from the source once for all requests that wait, and used again while it is fresh.
// Ownership: the state is shared by the coroutines; the server's destructor closes their sockets, and they end when the
// io_context runs again or is destroyed.
// Error handling: an error or a timeout ends the connection. Without a report in time the answer is 503.
#include "rpcrdma/observe/metrics/statistics_server.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <utility>

#include "own_host.hpp"
#include "page.hpp"
#include "rpcrdma/base/host_path.hpp"
#include "rpcrdma/observe/metrics/text.hpp"

namespace rpcrdma::observe {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

/// One connection. The server appends a new connection to the end of its list of connections, and moves a connection to
/// the end when a request arrives on it. The first connection in the list is therefore the one that has sent no request
/// for the longest time.
struct Session {
  explicit Session(tcp::socket socket) : stream(std::move(socket)) {}
  beast::tcp_stream stream;
};
using Sessions = std::list<std::shared_ptr<Session>>;

struct State : std::enable_shared_from_this<State> {
  State(asio::io_context& context_in, StatisticsServer::Source source_in, StatisticsServerOptions options_in,
        Log log_in)
      : context(context_in),
        acceptor(context),
        arrived(context),
        pause(context),
        source(std::move(source_in)),
        options(std::move(options_in)),
        log(std::move(log_in)) {}

  error_code listen(const tcp::endpoint& local);
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(std::shared_ptr<Session> session);
  asio::awaitable<std::shared_ptr<const Report>> fresh_report();
  asio::awaitable<Response> answer(const Request& request);
  void request_report();
  bool is_fresh() const noexcept;
  void close() noexcept;

  asio::io_context& context;
  tcp::acceptor acceptor;
  asio::steady_timer arrived;  // requests wait for it; cancelled when a report has arrived
  asio::steady_timer pause;
  StatisticsServer::Source source;
  const StatisticsServerOptions options;
  const Log log;
  Sessions sessions;
  std::shared_ptr<const Report> report;
  std::chrono::steady_clock::time_point report_at;
  bool requested = false;
  bool loopback = false;  // only this machine can connect
  bool closed = false;
};

error_code State::listen(const tcp::endpoint& local) {
  loopback = unmapped(local.address()).is_loopback();
  error_code failed;
  acceptor.open(local.protocol(), failed);
  if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor.bind(local, failed);
  if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
  return failed;
}

asio::awaitable<void> State::accept() {
  const auto self = shared_from_this();
  while (!closed) {
    auto [failed, socket] = co_await acceptor.async_accept(kAwait);
    if (closed || failed == asio::error::operation_aborted) co_return;
    // An accept can fail because the process has no free descriptor. The server then tries again after a pause.
    if (failed) {
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(kAwait);
      continue;
    }
    if (sessions.size() >= std::max<std::size_t>(options.max_connections, 1)) {
      // Closes the connection at the front of the list to make room for the new one. The coroutine of the closed
      // connection ends only later, so its session is removed from the list here. If the session stayed at the front,
      // the next new connection would close it again instead of another session.
      error_code ignored;
      sessions.front()->stream.socket().close(ignored);
      sessions.pop_front();
    }
    auto session = std::make_shared<Session>(std::move(socket));
    sessions.push_back(session);
    asio::co_spawn(context, serve(std::move(session)), asio::detached);
  }
}

asio::awaitable<void> State::serve(std::shared_ptr<Session> session) {
  const auto self = shared_from_this();
  beast::flat_buffer buffer(options.max_header);
  for (bool again = true; again && !closed;) {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(options.max_header);
    parser.body_limit(0);
    session->stream.expires_after(options.timeout);
    const auto [failed, size] = co_await http::async_read(session->stream, buffer, parser, kAwait);
    static_cast<void>(size);
    if (failed == http::error::end_of_stream || closed || !session->stream.socket().is_open()) break;
    Response response;
    if (!failed) {
      sessions.remove(session);
      sessions.push_back(session);
      response = co_await answer(parser.get());
    } else if (failed == http::error::header_limit || failed == http::error::buffer_overflow) {
      response.result(http::status::request_header_fields_too_large);
    } else if (failed.category() == http::make_error_code(http::error::bad_method).category()) {
      response.result(http::status::bad_request);
    } else {
      break;
    }
    again = !failed && parser.get().keep_alive();
    response.keep_alive(again);
    const bool head = !failed && parser.get().method() == http::verb::head;
    response.prepare_payload();
    session->stream.expires_after(options.timeout);
    http::response_serializer<http::string_body> serializer(response);
    error_code unsent;
    if (head) {
      serializer.split(true);
      unsent = std::get<0>(co_await http::async_write_header(session->stream, serializer, kAwait));
    } else {
      unsent = std::get<0>(co_await http::async_write(session->stream, serializer, kAwait));
    }
    if (unsent) break;
  }
  error_code ignored;
  session->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  session->stream.close();
  sessions.remove(session);
}

bool State::is_fresh() const noexcept {
  return report != nullptr && std::chrono::steady_clock::now() - report_at < options.freshness;
}

void State::request_report() {
  if (std::exchange(requested, true)) return;
  source([self = weak_from_this()](Report made) {
    const auto state = self.lock();
    if (!state || state->closed) return;
    state->requested = false;
    state->report = std::make_shared<const Report>(std::move(made));
    state->report_at = std::chrono::steady_clock::now();
    state->arrived.cancel();
  });
}

/// Returns the last report while it is fresh. Otherwise requests a new report, and waits for it. Returns null if the
/// new report does not arrive before the deadline.
asio::awaitable<std::shared_ptr<const Report>> State::fresh_report() {
  if (is_fresh()) co_return report;
  const std::shared_ptr<const Report> old = report;
  // The timer `arrived` holds one deadline for all HTTP requests that wait for the report. A new deadline is set when
  // no report is on its way from the source, or when the old deadline has passed and the report is still missing.
  if (!requested || arrived.expiry() <= std::chrono::steady_clock::now()) arrived.expires_after(options.timeout);
  request_report();
  if (report == old) co_await arrived.async_wait(kAwait);
  co_return report == old ? nullptr : report;
}

void add_headers(Response& response, const char* type) {
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Content-Security-Policy",
               "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
               "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

asio::awaitable<Response> State::answer(const Request& request) {
  constexpr const char* kPlain = "text/plain; charset=utf-8";
  Response response(http::status::ok, request.version());
  std::string_view path(request.target().data(), request.target().size());
  path = path.substr(0, path.find('?'));
  const bool is_page = path == "/";
  const bool known = is_page || path == "/metrics" || path == "/stats.json" || path == "/healthz";
  add_headers(response, kPlain);
  const auto host = request.find(http::field::host);
  if (host == request.end() ? request.version() >= 11 : request.count(http::field::host) != 1) {
    response.result(http::status::bad_request);  // RFC 9112 section 3.2
    co_return response;
  }
  if (loopback && host != request.end() && !is_own_host({host->value().data(), host->value().size()}, options.names)) {
    response.result(http::status::forbidden);
    response.body() = "unknown host name: use the IP address, localhost or the host name of the server\n";
    co_return response;
  }
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    response.result(http::status::method_not_allowed);
    response.set(http::field::allow, "GET, HEAD");
    co_return response;
  }
  if (!known) {
    response.result(http::status::not_found);
    response.body() = "not found: see /, /metrics, /stats.json and /healthz\n";
    co_return response;
  }
  if (is_page) {
    response.body() = page();
    response.set(http::field::content_type, "text/html; charset=utf-8");
    co_return response;
  }
  const std::shared_ptr<const Report> now = co_await fresh_report();
  if (now == nullptr) {
    response.result(http::status::service_unavailable);
    response.body() = "an event loop does not answer\n";
  } else if (path == "/metrics") {
    response.body() = prometheus_text(*now, options.version);
    response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
  } else if (path == "/stats.json") {
    response.body() = json_text(*now, options.version);
    response.set(http::field::content_type, "application/json");
  } else {
    response.body() = "ok\n";
  }
  co_return response;
}

void State::close() noexcept {
  closed = true;
  error_code ignored;
  acceptor.close(ignored);
  arrived.cancel();
  pause.cancel();
  for (const auto& session : sessions) session->stream.socket().close(ignored);
}

class Impl final : public StatisticsServer {
 public:
  explicit Impl(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Impl() override { state_->close(); }
  tcp::endpoint local() const override { return state_->acceptor.local_endpoint(); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace

Result<std::unique_ptr<StatisticsServer>> StatisticsServer::make(asio::io_context& context, const tcp::endpoint& local,
                                                                 Source source, StatisticsServerOptions options,
                                                                 Log log) {
  auto state = std::make_shared<State>(context, std::move(source), std::move(options), std::move(log));
  if (const error_code failed = state->listen(local)) return failed;
  asio::co_spawn(context, state->accept(), asio::detached);
  return std::unique_ptr<StatisticsServer>(std::make_unique<Impl>(std::move(state)));
}

}  // namespace rpcrdma::observe
