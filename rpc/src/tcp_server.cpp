// SPDX-License-Identifier: BSD-3-Clause
// Operation: accepts connections on the first worker's thread, counts each connection and assigns it to the next
// worker.
// Ownership: outstanding operations share the acceptor, the workers' states and their TcpShared.
// Error handling: a connection over a limit is closed at once; a failed accept is retried after a pause.
#include "rpcrdma/rpc/tcp_server.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>

#include "rpcrdma/base/host_path.hpp"
#include "rpcrdma/base/log_reason.hpp"
#include "tcp_connection.hpp"

namespace rpcrdma::rpc {

using boost::asio::ip::tcp;

namespace {

/// Accepts connections. The outstanding operation shares ownership of the object. Used on the first worker's thread.
class Acceptor final : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(std::shared_ptr<TcpShared> shared, std::vector<std::shared_ptr<TcpWorkerState>> workers)
      : shared_(std::move(shared)),
        workers_(std::move(workers)),
        acceptor_(workers_.front()->context()),
        timer_(workers_.front()->context()) {}

  Result<tcp::endpoint> listen(const tcp::endpoint& local);
  void stop() noexcept;
  void drain(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler);
  boost::asio::io_context& context() { return workers_.front()->context(); }
  const TcpShared& shared() const noexcept { return *shared_; }
  const std::vector<std::shared_ptr<TcpWorkerState>>& workers() const noexcept { return workers_; }

 private:
  static constexpr std::chrono::milliseconds kPause{100};

  void accept_next();
  void on_accept(error_code status, tcp::socket socket, const std::shared_ptr<TcpWorkerState>& worker);
  void hand_over(const std::shared_ptr<TcpWorkerState>& worker, tcp::socket socket);
  void worker_is_empty();

  std::shared_ptr<TcpShared> shared_;
  std::vector<std::shared_ptr<TcpWorkerState>> workers_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer timer_;  // for the pause after a failed accept, then for the deadline of drain()
  std::size_t next_ = 0;
  std::size_t undrained_ = 0;
  UniqueFunction<void()> on_drained_;
  bool closed_ = false;
  LogLimit lines_;  // about connections that are not accepted
};

Result<tcp::endpoint> Acceptor::listen(const tcp::endpoint& local) {
  error_code status;
  acceptor_.open(local.protocol(), status);
  if (!status) acceptor_.set_option(tcp::acceptor::reuse_address(true), status);
  if (!status && local.address().is_v6())
    acceptor_.set_option(boost::asio::ip::v6_only(shared_->options.v6_only), status);
  if (!status) acceptor_.bind(local, status);
  if (!status) acceptor_.listen(boost::asio::socket_base::max_listen_connections, status);
  if (status) {
    error_code ignored;
    acceptor_.close(ignored);
    return status;
  }
  accept_next();
  return acceptor_.local_endpoint();
}

void Acceptor::stop() noexcept {
  closed_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
}

void Acceptor::accept_next() {
  const std::shared_ptr<TcpWorkerState> worker = workers_[next_++ % workers_.size()];
  acceptor_.async_accept(worker->context(), [self = shared_from_this(), worker](error_code status, tcp::socket socket) {
    self->on_accept(status, std::move(socket), worker);
  });
}

void Acceptor::on_accept(error_code status, tcp::socket socket, const std::shared_ptr<TcpWorkerState>& worker) {
  if (closed_) {
    if (!status) ++shared_->refused;
    return;
  }
  if (status) {  // for example, the process is out of file descriptors
    shared_->log.limited(lines_).warn("rpc/tcp: cannot accept a connection: {}; retrying", Reason{status});
    timer_.expires_after(kPause);
    timer_.async_wait([self = shared_from_this()](error_code) {
      if (!self->closed_) self->accept_next();
    });
    return;
  }
  hand_over(worker, std::move(socket));
  accept_next();
}

void Acceptor::hand_over(const std::shared_ptr<TcpWorkerState>& worker, tcp::socket socket) {
  error_code gone;
  const tcp::endpoint from = socket.remote_endpoint(gone);
  const tcp::endpoint peer(unmapped(from.address()), from.port());
  if (gone) {
    ++shared_->failed;
    return;
  }
  if (!shared_->enter(peer.address())) {
    ++shared_->refused;
    shared_->log.about({.fabric = "tcp", .peer = peer}, &lines_)
        .info("connection refused: too many connections are open, in total or from this address");
    return;
  }
  boost::asio::dispatch(worker->context(), [worker, socket = std::move(socket), peer]() mutable {
    TcpShared& shared = *worker->shared;
    if (worker->draining()) {
      ++shared.refused;
      shared.log.about({.fabric = "tcp", .peer = peer}, &worker->end_lines)
          .info("connection refused: the server is shutting down");
      return shared.leave(peer.address());
    }
    ++shared.accepted;
    std::make_shared<TcpConnection>(worker, std::move(socket), peer)->start();
  });
}

void Acceptor::drain(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler) {
  stop();
  on_drained_ = std::move(handler);
  undrained_ = workers_.size();
  timer_.expires_at(deadline);
  timer_.async_wait([self = shared_from_this()](error_code cancelled) {
    if (cancelled) return;
    for (const auto& worker : self->workers_) boost::asio::post(worker->context(), [worker] { worker->cut(); });
  });
  for (const auto& worker : workers_) {
    boost::asio::post(worker->context(), [self = shared_from_this(), worker] {
      worker->drain([self] { boost::asio::post(self->context(), [self] { self->worker_is_empty(); }); });
    });
  }
}

void Acceptor::worker_is_empty() {
  if (--undrained_ != 0) return;
  timer_.cancel();
  std::exchange(on_drained_, {})();
}

class ListeningServer final : public TcpServer {
 public:
  explicit ListeningServer(std::shared_ptr<Acceptor> acceptor) : acceptor_(std::move(acceptor)) {}
  ~ListeningServer() override {
    acceptor_->stop();
    for (const auto& worker : acceptor_->workers()) worker->cut();
  }
  Result<tcp::endpoint> listen(const tcp::endpoint& local) override { return acceptor_->listen(local); }
  void close(std::chrono::steady_clock::time_point deadline, UniqueFunction<void()> handler) override {
    boost::asio::post(acceptor_->context(), [acceptor = acceptor_, deadline, handler = std::move(handler)]() mutable {
      acceptor->drain(deadline, std::move(handler));
    });
  }
  Counters counters() const noexcept override {
    const TcpShared& shared = acceptor_->shared();
    std::uint64_t calls = 0;
    for (const auto& worker : acceptor_->workers()) calls += worker->calls();
    return {shared.connections(), shared.accepted, shared.refused, calls, shared.failed};
  }
  std::vector<transport::ConnectionReport> report(std::size_t index, std::size_t most) const override {
    return acceptor_->workers().at(index)->report(most);
  }

 private:
  std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace

std::unique_ptr<TcpServer> TcpServer::make(const std::vector<TcpWorker>& workers, TcpServerOptions options, Log log) {
  auto shared = std::make_shared<TcpShared>(options, std::move(log));
  std::vector<std::shared_ptr<TcpWorkerState>> states;
  states.reserve(workers.size());
  for (const TcpWorker& worker : workers) states.push_back(std::make_shared<TcpWorkerState>(worker, shared));
  return std::make_unique<ListeningServer>(std::make_shared<Acceptor>(std::move(shared), std::move(states)));
}

}  // namespace rpcrdma::rpc
