// SPDX-License-Identifier: BSD-3-Clause
// Operation: calls wait in order for the connection, are written one record after the other, and are matched with their
// replies by XID. One timer waits for the earliest deadline.
// Ownership: the link (socket, timer, buffers) is shared with its outstanding operations; calls belong to the layer
// above. When the requester is destroyed, the link is closed and its calls are completed.
// Error handling: an error of the connection ends all its calls; the next call opens a new connection.
#include "rpcrdma/rpc/tcp_requester.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <map>

#include "rpcrdma/base/host_path.hpp"
#include "rpcrdma/base/random_number.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/rpc/block_memory.hpp"
#include "tcp_record.hpp"

namespace rpcrdma::rpc {
namespace {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;

class Link final : public std::enable_shared_from_this<Link> {
 public:
  Link(boost::asio::io_context& context, const tcp::endpoint& server, TcpRequesterOptions options)
      : socket_(context), timer_(context), server_(server), reader_(options.max_record) {}

  transport::Requester::Counters counters;

  void submit(transport::Call& call);
  void cancel(transport::Call& call);
  void close();
  bool in_flight(std::uint32_t xid) const { return calls_.contains(xid); }

 private:
  enum class State : std::uint8_t { idle, connecting, connected };

  void connect();
  void write_next();
  void read_next();
  void on_record();
  void lost(error_code why);
  void end(transport::Call& call, error_code why);
  void arm_timer();
  void on_timer();

  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  tcp::endpoint server_;
  RecordReader reader_;
  State state_ = State::idle;
  Clock::time_point armed_ = Clock::time_point::max();  // expiry of the timer
  // Changes when lost() closes the socket. The handler of a socket operation that was started before then does nothing,
  // because the connection of the operation no longer exists.
  std::uint64_t generation_ = 0;
  bool writing_ = false;
  struct InProgress {
    transport::Call* call = nullptr;
    Clock::time_point submitted;  // set only if the call has statistics
  };
  std::map<std::uint32_t, InProgress> calls_;  // all calls in progress; the key is the XID
  std::deque<std::vector<std::byte>> outgoing_;
  BlockMemory memory_;
  PayloadBuilder builder_;
};

void Link::submit(transport::Call& call) {
  ++counters.calls;
  calls_[call.xid] = {&call, call.statistics != nullptr ? Clock::now() : Clock::time_point()};
  memory_.start(builder_);
  call.encode(builder_);
  if (!builder_.ok()) {
    boost::asio::post(socket_.get_executor(), [self = shared_from_this(), xid = call.xid] {
      if (const auto at = self->calls_.find(xid); at != self->calls_.end())
        self->end(*at->second.call, transport::TransportError::call_too_long);
    });
    return;
  }
  if (call.statistics != nullptr) call.statistics->count(builder_.payload().length, 0);
  std::vector<std::byte> record = flatten(builder_.payload(), kRecordMark);
  Writer(record).u32(kLastFragment | static_cast<std::uint32_t>(record.size() - kRecordMark));
  outgoing_.push_back(std::move(record));
  arm_timer();
  if (state_ == State::idle) connect();
  if (state_ == State::connected) write_next();
}

void Link::connect() {
  state_ = State::connecting;
  socket_.async_connect(server_, [self = shared_from_this(), generation = generation_](error_code status) {
    if (generation != self->generation_) return;
    if (status) return self->lost(status);
    self->state_ = State::connected;
    error_code ignored;
    self->socket_.set_option(tcp::no_delay(true), ignored);
    const auto local = self->socket_.local_endpoint(ignored).address();
    if (within_host(local, self->socket_.remote_endpoint(ignored).address()))
      do_not_pace(self->socket_.native_handle());
    self->read_next();
    self->write_next();
  });
}

void Link::write_next() {
  if (writing_ || outgoing_.empty()) return;
  writing_ = true;
  auto record = std::make_shared<std::vector<std::byte>>(std::move(outgoing_.front()));
  outgoing_.pop_front();
  boost::asio::async_write(
      socket_, boost::asio::buffer(*record),
      [self = shared_from_this(), record, generation = generation_](error_code status, std::size_t) {
        if (generation != self->generation_) return;
        self->writing_ = false;
        if (status) return self->lost(status);
        self->write_next();
      });
}

void Link::read_next() {
  reader_.async_read(socket_, [self = shared_from_this(), generation = generation_](error_code status) {
    if (generation != self->generation_) return;
    if (status) return self->lost(status);
    self->on_record();
  });
}

void Link::on_record() {
  Payload message;
  Record record = std::move(reader_.record());
  as_payload(record, message);
  const auto call = calls_.find(Reader(record).u32());
  const std::uint64_t generation = generation_;
  if (record.size() < kRecordMark || call == calls_.end()) {
    ++counters.discarded_replies;
  } else {
    ++counters.replies;
    const InProgress found = call->second;
    if (found.call->statistics != nullptr) {
      const auto spent = std::chrono::nanoseconds(Clock::now() - found.submitted).count();
      found.call->statistics->latency.add(static_cast<std::uint64_t>(spent));
    }
    calls_.erase(call);
    arm_timer();
    found.call->done({}, &message);
  }
  if (generation == generation_) read_next();
}

void Link::end(transport::Call& call, error_code why) {
  calls_.erase(call.xid);
  call.done(why, nullptr);
}

/// Closes the socket and fails all calls.
void Link::lost(error_code why) {
  ++generation_;
  reader_.restart();
  // Any socket error of an established connection is reported as connection_lost, as the remedy is always to connect
  // again.
  const bool established = state_ == State::connected;
  const bool by_socket = why == boost::asio::error::eof || why.category() == boost::system::system_category();
  if (established && by_socket) why = transport::TransportError::connection_lost;
  state_ = State::idle;
  writing_ = false;
  outgoing_.clear();
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  armed_ = Clock::time_point::max();
  for (auto calls = std::move(calls_); auto& [xid, one] : calls) one.call->done(why, nullptr);
}

void Link::close() { lost(BaseError::cancelled); }

void Link::cancel(transport::Call& call) {
  boost::asio::post(socket_.get_executor(), [self = shared_from_this(), xid = call.xid, &call] {
    if (const auto at = self->calls_.find(xid); at != self->calls_.end() && at->second.call == &call)
      self->end(call, BaseError::cancelled);
  });
}

void Link::arm_timer() {
  auto earliest = Clock::time_point::max();
  for (const auto& [xid, one] : calls_) earliest = std::min(earliest, one.call->deadline);
  if (earliest == armed_) return;
  armed_ = earliest;
  timer_.cancel();
  if (earliest == Clock::time_point::max()) return;
  timer_.expires_at(earliest);
  timer_.async_wait([self = shared_from_this()](error_code status) {
    if (!status) self->on_timer();
  });
}

void Link::on_timer() {
  armed_ = Clock::time_point::max();
  std::vector<std::uint32_t> late;
  for (const auto& [xid, one] : calls_)
    if (one.call->deadline <= Clock::now()) late.push_back(xid);
  // end() runs done(), which may add calls to calls_ or remove some. Therefore this loop looks up each late call anew.
  for (const std::uint32_t xid : late)
    if (const auto call = calls_.find(xid); call != calls_.end()) end(*call->second.call, BaseError::deadline_exceeded);
  if (calls_.empty() && state_ == State::connecting) return lost(BaseError::deadline_exceeded);
  arm_timer();
}

class ReconnectingRequester final : public TcpRequester {
 public:
  ReconnectingRequester(boost::asio::io_context& context, const tcp::endpoint& server, TcpRequesterOptions options)
      : link_(std::make_shared<Link>(context, server, options)), xid_(random_number()) {}
  ~ReconnectingRequester() override { link_->close(); }

  void submit(transport::Call& call) override { link_->submit(call); }
  void cancel(transport::Call& call) override { link_->cancel(call); }
  std::uint32_t next_xid() noexcept override {
    do ++xid_;
    while (link_->in_flight(xid_));
    return xid_;
  }
  Counters counters() const noexcept override { return link_->counters; }

 private:
  std::shared_ptr<Link> link_;
  std::uint32_t xid_;
};

}  // namespace

std::unique_ptr<TcpRequester> TcpRequester::make(boost::asio::io_context& context, const tcp::endpoint& server,
                                                 TcpRequesterOptions options) {
  return std::make_unique<ReconnectingRequester>(context, server, options);
}

}  // namespace rpcrdma::rpc
