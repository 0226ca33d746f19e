// SPDX-License-Identifier: BSD-3-Clause
// Operation. Receives are posted before the connection is made, and posted again as messages arrive.
// Ownership. A Connection owns all memory. Its destructor ends the connection before it releases exposed memory, and
// destroys the queue pair before it releases the memory of work requests.
// Errors. Sends, Writes and Reads on a connection that has ended are dropped; the caller notices that no message
// arrives.
#include "connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>

#include "rpcrdma/conform/framework/case.hpp"

namespace rpcrdma::conform {
namespace {

/// The size of each posted Receive, in bytes. It is larger than the size that most cases announce to the server. A Send
/// that exceeds the announced size therefore usually arrives, and the case can report it.
constexpr std::size_t kReceiveSize = 16384;

}  // namespace

bool Network::wait(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto guard = boost::asio::make_work_guard(context);
  context.restart();
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return done();
    context.run_one_until(end);
  }
  return true;
}

struct Connection::Receive final : fabric::WorkContext {
  explicit Receive(Connection& connection) : of(connection), bytes(kReceiveSize) {
    region = std::move(of.network_.fabric->register_memory(bytes).value());
  }
  void post() { of.queue_pair_->post_receive(region->buffer(), this); }
  void on_completion(const fabric::Completion& completion) noexcept override {
    if (completion.status) return;
    of.arrived(View(bytes).first(completion.length), completion.invalidated);
    post();
  }
  Connection& of;
  Bytes bytes;
  std::unique_ptr<fabric::MemoryRegion> region;
};

/// A work request of the send queue, with its memory.
struct Connection::Posted final : fabric::WorkContext {
  void on_completion(const fabric::Completion&) noexcept override {}
  Bytes bytes;
  std::unique_ptr<fabric::MemoryRegion> region;
};

Connection::Connection(Network& network, Setup setup) : network_(network), setup_(std::move(setup)) {
  fabric::QueuePairOptions options;
  options.send_depth = 512;
  options.receive_depth = setup_.receives;
  options.inbound_reads = setup_.inbound_reads;
  options.outbound_reads = setup_.outbound_reads;
  options.private_data = setup_.private_data;
  options.handshake_timeout = network_.patience;
  auto made = network_.fabric->make_connector(network_.server, options, *this);
  if (!made) Record::fail("cannot connect: " + made.error().message());
  queue_pair_ = std::move(*made);
  for (std::uint32_t i = 0; i < setup_.receives; ++i) receives_.push_back(std::make_unique<Receive>(*this));
  for (const auto& receive : receives_) receive->post();
  network_.fabric->start(*queue_pair_);
  network_.wait([this] { return established_ || ended_; }, 2 * network_.patience);
  if (ended_) Record::fail("the server does not accept the connection: " + why_ended());
  if (!established_) Record::fail("the connection is not established in time");
}

/// quiesce() ends the connection before its windows are destroyed. Otherwise the server could still invalidate a window
/// that no longer exists.
Connection::~Connection() {
  if (queue_pair_) queue_pair_->quiesce();
  memories_.clear();
  queue_pair_.reset();
}

void Connection::on_established(const fabric::ConnectionInfo& info) noexcept {
  info_ = info;
  established_ = true;
}

void Connection::on_disconnected(error_code why) noexcept {
  ended_ = true;
  why_ = why;
}

std::optional<PrivateData> Connection::private_data() const { return find_private_data(info_.private_data); }

std::uint32_t Connection::call_threshold() const {
  const auto own = find_private_data(setup_.private_data), peers = private_data();
  return own && peers ? std::min(bytes_of_size(own->send_size), bytes_of_size(peers->receive_size)) : 1024;
}

std::uint32_t Connection::reply_threshold() const {
  const auto own = find_private_data(setup_.private_data), peers = private_data();
  return own && peers ? std::min(bytes_of_size(own->receive_size), bytes_of_size(peers->send_size)) : 1024;
}

Connection::Posted& Connection::post(Bytes bytes) {
  Posted& out = *posted_.emplace_back(std::make_unique<Posted>());
  out.bytes = std::move(bytes);
  const std::size_t size = out.bytes.size();
  out.bytes.resize(std::max<std::size_t>(size, 1));
  out.region = std::move(network_.fabric->register_memory(out.bytes).value());
  out.bytes.resize(size);
  return out;
}

void Connection::send(View message, std::optional<std::uint32_t> invalidate) {
  if (ended_) return;
  note_sent(message);
  Posted& work = post({message.begin(), message.end()});
  const BufferRef buffer = work.region->buffer();
  fabric::SendOptions options;
  options.invalidate = invalidate;
  queue_pair_->post_send({&buffer, message.empty() ? 0u : 1u}, options, &work);
  queue_pair_->submit();
}

void Connection::write(View data, std::uint32_t handle, std::uint64_t offset) {
  if (ended_) return;
  Posted& work = post({data.begin(), data.end()});
  const BufferRef buffer = work.region->buffer();
  queue_pair_->post_write({&buffer, 1}, handle, offset, &work);
  queue_pair_->submit();
}

void Connection::read(std::uint32_t length, std::uint32_t handle, std::uint64_t offset) {
  if (ended_) return;
  Posted& work = post(Bytes(length));
  queue_pair_->post_read(work.region->buffer(), handle, offset, &work);
  queue_pair_->submit();
}

std::optional<Message> Connection::receive(std::chrono::milliseconds limit) {
  network_.wait([this] { return !messages_.empty() || ended_; }, limit);
  if (messages_.empty()) return std::nullopt;
  Message out = std::move(messages_.front());
  messages_.pop_front();
  return out;
}

void Connection::abort() {
  if (!ended_) queue_pair_->abort();
  wait_for_end();
}

Memory& Connection::expose(Bytes contents, fabric::Access access) {
  return *memories_.emplace_back(std::make_unique<Memory>(*this, *queue_pair_, std::move(contents), access));
}

Memory::Memory(Connection& connection, fabric::QueuePair& queue_pair, Bytes contents, fabric::Access access)
    : bytes_(std::move(contents)) {
  region_ = std::move(connection.network().fabric->register_memory(bytes_).value());
  auto window = queue_pair.make_window();
  if (!window) Record::fail("cannot expose memory: " + window.error().message());
  window_ = std::move(*window);
  const auto exposed = queue_pair.bind(*window_, region_->buffer(), access);
  if (!exposed) Record::fail("cannot expose memory: " + exposed.error().message());
  exposed_ = *exposed;
}

Chunk Memory::split(const std::vector<std::uint32_t>& lengths) const {
  Chunk out;
  std::uint32_t offset = 0;
  for (const std::uint32_t length : lengths) {
    out.push_back(segment(offset, length));
    offset += length;
  }
  return out;
}

std::string describe(const Message& message) {
  if (!message.malformed.empty())
    return fmt::format("a message of {} bytes that cannot be decoded ({}): {}", message.bytes.size(), message.malformed,
                       hex(message.bytes));
  const RdmaHeader& header = message.header;
  if (header.procedure == kError) {
    if (header.error == kErrVers)
      return fmt::format("RDMA_ERROR, ERR_VERS {}..{}, xid {:#x}, vers {}", header.lowest, header.highest, header.xid,
                         header.version);
    return fmt::format("RDMA_ERROR, ERR_CHUNK, xid {:#x}, vers {}", header.xid, header.version);
  }
  std::string out = header.procedure == kMsg ? "RDMA_MSG" : "RDMA_NOMSG";
  out += fmt::format(", xid {:#x}", header.xid);
  for (const Chunk& chunk : header.lists.writes)
    out += fmt::format(", Write chunk of {} segments and {} bytes", chunk.size(), length_of(chunk));
  if (header.lists.reply)
    out += fmt::format(", Reply chunk of {} segments and {} bytes", header.lists.reply->size(),
                       length_of(*header.lists.reply));
  if (header.procedure == kMsg) {
    try {
      out += ": " + describe(decode_reply(message.payload));
    } catch (const DecodeError& error) {
      out += fmt::format(", payload: {} ({})", error.what(), hex(message.payload));
    }
  }
  return out;
}

}  // namespace rpcrdma::conform
