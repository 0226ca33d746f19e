// SPDX-License-Identifier: BSD-3-Clause
// Operation: each connection reads one record after the other and hands it to the handler; replies are written in
// the order in which they come. Reading stops while as many calls as allowed are being served.
// Ownership: a connection is shared by its outstanding operations and its calls; the server lists it weakly.
// Error handling: anything wrong with a connection ends it; its calls live on and are answered into nothing.
#include "rpcrdma/rpc/tcp_server.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <set>

#include "rpcrdma/connection/error.hpp"
#include "tcp_call.hpp"
#include "tcp_record.hpp"

namespace rpcrdma::rpc {
namespace {

using boost::asio::ip::tcp;

struct Shared {
  boost::asio::io_context& context;
  memory::Pool& pool;
  transport::CallHandler& handler;
  TcpServerOptions options;
  Log log;
  TcpServer::Counters counters;
};

class Connection final : public TcpCallOwner, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Shared> shared, tcp::socket socket)
      : shared_(std::move(shared)),
        socket_(std::move(socket)),
        idle_(shared_->context),
        reader_(shared_->options.max_record) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    info_.local = socket_.local_endpoint(ignored);
    info_.peer = socket_.remote_endpoint(ignored);
    ++shared_->counters.connections;
  }
  ~Connection() override { close(); }

  void start() { read_next(); }
  void close() noexcept;

  const fabric::ConnectionInfo& info() const noexcept override { return info_; }
  boost::asio::io_context& context() noexcept override { return shared_->context; }
  memory::Pool& pool() noexcept override { return shared_->pool; }
  void write(TcpCall& call) noexcept override;
  void ended(TcpCall& call) noexcept override;

 private:
  void read_next();
  void on_record();
  void write_next();
  void watch();

  std::shared_ptr<Shared> shared_;
  tcp::socket socket_;
  boost::asio::steady_timer idle_;
  fabric::ConnectionInfo info_;
  RecordReader reader_;
  bool open_ = true;
  bool reading_ = false;
  bool writing_ = false;
  std::uint32_t serving_ = 0;
  std::vector<std::unique_ptr<TcpCall>> calls_;
  std::vector<TcpCall*> rest_;
  std::deque<TcpCall*> replies_;
  std::vector<std::span<const std::byte>> gather_;
  std::vector<boost::asio::const_buffer> buffers_;
};

void Connection::close() noexcept {
  if (!std::exchange(open_, false)) return;
  --shared_->counters.connections;
  error_code ignored;
  socket_.close(ignored);
  idle_.cancel();
}

/// Closes the connection when nothing happens for long.
void Connection::watch() {
  idle_.expires_after(shared_->options.idle_timeout);
  idle_.async_wait([self = weak_from_this()](error_code status) {
    const auto connection = self.lock();
    if (status || !connection) return;
    if (connection->serving_ == 0) return connection->close();
    connection->watch();
  });
}

void Connection::read_next() {
  if (!open_ || reading_ || serving_ >= shared_->options.max_calls) return;
  reading_ = true;
  watch();
  reader_.async_read(socket_, [self = shared_from_this()](error_code status) {
    self->reading_ = false;
    if (status || !self->open_) return self->close();
    self->on_record();
    self->read_next();
  });
}

void Connection::on_record() {
  if (rest_.empty()) {
    calls_.push_back(std::make_unique<TcpCall>());
    rest_.push_back(calls_.back().get());
  }
  TcpCall& call = *rest_.back();
  if (!call.start(shared_from_this(), reader_.record())) return close();
  rest_.pop_back();
  ++serving_;
  ++shared_->counters.calls;
  shared_->handler.on_call(call);
}

void Connection::ended(TcpCall& call) noexcept {
  --serving_;
  rest_.push_back(&call);
  read_next();
}

void Connection::write(TcpCall& call) noexcept {
  replies_.push_back(&call);
  write_next();
}

void Connection::write_next() {
  const auto alive = shared_from_this();  // its last call may let go of it
  while (!open_ && !writing_ && !replies_.empty()) {
    TcpCall* call = replies_.front();
    replies_.pop_front();
    call->written(transport::TransportError::connection_lost);
  }
  if (writing_ || replies_.empty()) return;
  writing_ = true;
  gather_.clear();
  buffers_.clear();
  replies_.front()->gather(gather_);
  for (const auto octets : gather_) buffers_.emplace_back(octets.data(), octets.size());
  boost::asio::async_write(socket_, buffers_, [self = shared_from_this()](error_code status, std::size_t) {
    TcpCall* call = self->replies_.front();
    self->replies_.pop_front();
    self->writing_ = false;
    if (status) self->close();
    call->written(status);
    self->write_next();
  });
}

/// Accepts; shared with its outstanding operation.
class Acceptor final : public std::enable_shared_from_this<Acceptor> {
 public:
  explicit Acceptor(std::shared_ptr<Shared> shared)
      : shared_(std::move(shared)), acceptor_(shared_->context), pause_(shared_->context) {}

  Result<tcp::endpoint> listen(const tcp::endpoint& local);
  void close() noexcept;
  const Shared& shared() const noexcept { return *shared_; }

 private:
  static constexpr std::chrono::milliseconds kPause{100};

  void accept_next();
  void on_accept(error_code status, tcp::socket socket);

  std::shared_ptr<Shared> shared_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  std::vector<std::weak_ptr<Connection>> connections_;
  bool closed_ = false;
};

Result<tcp::endpoint> Acceptor::listen(const tcp::endpoint& local) {
  error_code status;
  acceptor_.open(local.protocol(), status);
  if (!status) acceptor_.set_option(tcp::acceptor::reuse_address(true), status);
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

void Acceptor::close() noexcept {
  closed_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (const auto& weak : connections_)
    if (const auto connection = weak.lock()) connection->close();
}

void Acceptor::accept_next() {
  acceptor_.async_accept([self = shared_from_this()](error_code status, tcp::socket socket) {
    self->on_accept(status, std::move(socket));
  });
}

void Acceptor::on_accept(error_code status, tcp::socket socket) {
  if (closed_) return;
  if (status) {  // out of descriptors, for example: again in a moment
    shared_->log.warn("accept over TCP: {}", status.message());
    pause_.expires_after(kPause);
    pause_.async_wait([self = shared_from_this()](error_code) {
      if (!self->closed_) self->accept_next();
    });
    return;
  }
  ++shared_->counters.accepted;
  std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
  if (shared_->counters.connections < shared_->options.max_connections) {
    const auto connection = std::make_shared<Connection>(shared_, std::move(socket));
    connections_.push_back(connection);
    connection->start();
  } else {
    shared_->log.warn("connection over TCP refused: {} are open", shared_->counters.connections);
  }
  accept_next();
}

class Implementation final : public TcpServer {
 public:
  explicit Implementation(std::shared_ptr<Shared> shared) : acceptor_(std::make_shared<Acceptor>(std::move(shared))) {}
  ~Implementation() override { acceptor_->close(); }
  Result<tcp::endpoint> listen(const tcp::endpoint& local) override { return acceptor_->listen(local); }
  Counters counters() const noexcept override { return acceptor_->shared().counters; }

 private:
  std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace

std::unique_ptr<TcpServer> TcpServer::make(boost::asio::io_context& context, memory::Pool& pool,
                                           transport::CallHandler& handler, TcpServerOptions options, Log log) {
  auto shared = std::make_shared<Shared>(Shared{context, pool, handler, options, std::move(log), {}});
  return std::make_unique<Implementation>(std::move(shared));
}

}  // namespace rpcrdma::rpc
