// SPDX-License-Identifier: BSD-3-Clause
// Operation. Receives are posted before the connection is accepted, and posted again as messages arrive.
// Ownership. The link owns all memory; the memory of a Send, Write or Read is released when the work request completes.
// Errors. Work requests for a connection that has ended are dropped.
#include "link.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rpcrdma/conform/framework/case.hpp"

namespace rpcrdma::conform::client {
namespace {

/// The least size of a receive. It exceeds the default inline threshold, so that a Send that is too long arrives and is
/// reported.
constexpr std::size_t kLeastReceive = 16384;
constexpr std::uint32_t kReceives = 64;
/// The maximum number of bytes in all Read chunks of a call together. The tester does not read the chunks of a longer
/// call, and refuses the call.
constexpr std::uint64_t kLongestCall = 16u << 20;

std::size_t size_of_receives(const Setup& setup) {
  const auto own = find_private_data(setup.private_data);
  return std::max<std::size_t>(own ? bytes_of_size(own->receive_size) : 0, kLeastReceive);
}

}  // namespace

struct Link::Receive final : fabric::WorkContext {
  explicit Receive(Link& link) : of(link), bytes(size_of_receives(link.setup_)) {
    region = std::move(of.fabric_.register_memory(bytes).value());
  }
  void post() { of.queue_pair_->post_receive(region->buffer(), this); }
  void on_completion(const fabric::Completion& completion) noexcept override {
    if (completion.status) return;
    const Bytes message(bytes.begin(), bytes.begin() + completion.length);
    post();
    of.arrived(message);
  }
  Link& of;
  Bytes bytes;
  std::unique_ptr<fabric::MemoryRegion> region;
};

/// A work request of the send queue, and the registered memory that it uses. An element of Link::posted_. Its
/// completion removes it from this list and destroys it.
struct Link::Posted final : fabric::WorkContext {
  Posted(Link& link, Bytes contents, std::function<void(bool)> finished)
      : of(link), bytes(std::move(contents)), done(std::move(finished)) {
    const std::size_t size = bytes.size();
    bytes.resize(std::max<std::size_t>(size, 1));
    region = std::move(of.fabric_.register_memory(bytes).value());
    bytes.resize(size);
  }
  void on_completion(const fabric::Completion& completion) noexcept override {
    const auto finished = std::move(done);
    const bool good = !completion.status;
    const std::list<Posted> kept = taken();
    if (finished) finished(good);
  }
  std::list<Posted> taken() {
    std::list<Posted> out;
    out.splice(out.begin(), of.posted_, self);
    return out;
  }
  Link& of;
  Bytes bytes;
  std::function<void(bool)> done;
  std::unique_ptr<fabric::MemoryRegion> region;
  std::list<Posted>::iterator self;
};

Link::Link(fabric::Fabric& fabric, std::unique_ptr<fabric::ConnectionRequest> request, Setup setup, LinkEvents& events,
           Watch& watch)
    : fabric_(fabric), setup_(std::move(setup)), events_(events), watch_(watch) {
  fabric::QueuePairOptions options;
  options.send_depth = 512;
  options.receive_depth = kReceives;
  options.inbound_reads = setup_.inbound_reads;
  options.outbound_reads = setup_.outbound_reads;
  options.private_data = setup_.private_data;
  clients_data_ = request->info().private_data;
  auto made = fabric_.make_acceptor(std::move(request), options, *this);
  if (!made) {
    ended_ = true;
    return;
  }
  queue_pair_ = std::move(*made);
  if (const auto data = find_private_data(clients_data_); data && (data->flags & ~1u) != 0)
    watch_.broken(Always::reserved_bits, "private data " + hex(clients_data_));
  for (std::uint32_t i = 0; i < kReceives; ++i) receives_.emplace_back(*this).post();
  fabric_.start(*queue_pair_);
}

Link::~Link() {
  if (queue_pair_) queue_pair_->quiesce();
  queue_pair_.reset();
}

void Link::on_established(const fabric::ConnectionInfo& info) noexcept {
  established_ = true;
  if (!info.private_data.empty()) clients_data_ = info.private_data;
}

void Link::on_disconnected(error_code) noexcept { ended_ = true; }

Agreed Link::agreed() const {
  const auto own = find_private_data(setup_.private_data), clients = find_private_data(clients_data_);
  if (!own || !clients) return {};
  return {std::min(bytes_of_size(own->send_size), bytes_of_size(clients->receive_size)),
          (own->flags & clients->flags & 1) != 0};
}

Link::Posted& Link::post(Bytes bytes, std::function<void(bool)> done) {
  Posted& out = posted_.emplace_back(*this, std::move(bytes), std::move(done));
  out.self = std::prev(posted_.end());
  return out;
}

void Link::send(View message, std::optional<std::uint32_t> invalidate) {
  if (ended_) return;
  Posted& work = post({message.begin(), message.end()});
  const BufferRef buffer = work.region->buffer();
  fabric::SendOptions options;
  options.invalidate = invalidate;
  if (queue_pair_->post_send({&buffer, message.empty() ? 0u : 1u}, options, &work)) work.taken();
  queue_pair_->submit();
}

void Link::write(const RemoteWrite& data) {
  if (ended_ || data.data.empty()) return;
  Posted& work = post(data.data);
  const BufferRef buffer = work.region->buffer();
  if (queue_pair_->post_write({&buffer, 1}, data.handle, data.offset, &work)) work.taken();
  queue_pair_->submit();
}

void Link::read(std::uint32_t length, std::uint32_t handle, std::uint64_t offset, std::function<void(bool)> done) {
  if (ended_ || length == 0) return;
  Posted& work = post(Bytes(length), std::move(done));
  if (queue_pair_->post_read(work.region->buffer(), handle, offset, &work)) work.taken();
  queue_pair_->submit();
}

void Link::send(const Reply& reply) {
  for (const Bytes& message : reply.before) send(message);
  if (reply.send) {
    for (const RemoteWrite& each : reply.writes) write(each);
    replied_ = true;
    granted_ = std::max(granted_, reply.header.credits);
    unanswered_.erase(reply.header.xid);
    send(reply.bytes(), reply.invalidate);
  }
  for (const Bytes& message : reply.after) send(message);
  if (reply.abort) abort();
}

void Link::abort() {
  if (!ended_ && established_) queue_pair_->abort();
}

void Link::disconnect() {
  if (!ended_ && established_) queue_pair_->disconnect();
}

void Link::complete(Call call) {
  std::uint64_t length = 0;
  for (const ReadSegment& each : call.header.lists.reads) length += each.target.length;
  if (length == 0) return events_.on_whole_call(*this, call);
  if (length > kLongestCall) return send(refusal(call, setup_.credits));
  struct Reading {
    Call call;
    Bytes data;
    std::size_t left = 0;
  };
  const auto reading = std::make_shared<Reading>();
  reading->data.resize(length);
  for (const ReadSegment& each : call.header.lists.reads) reading->left += each.target.length != 0 ? 1 : 0;
  reading->call = std::move(call);
  std::size_t at = 0;
  for (const ReadSegment& each : reading->call.header.lists.reads) {
    const RdmaSegment& segment = each.target;
    if (segment.length == 0) continue;
    Posted& work = post(Bytes(segment.length));
    work.done = [this, reading, &work, at](bool good) {
      if (good) std::ranges::copy(work.bytes, reading->data.begin() + static_cast<std::ptrdiff_t>(at));
      if (!good || --reading->left != 0) return;
      try {
        reading->call.payload = assemble(reading->call, reading->data);
        reading->call.rpc = decode_call(reading->call.payload);
      } catch (const DecodeError&) {
        return send(refusal(reading->call, setup_.credits));
      }
      events_.on_whole_call(*this, reading->call);
    };
    at += segment.length;
    if (queue_pair_->post_read(work.region->buffer(), segment.handle, segment.offset, &work)) {
      work.taken();
      return abort();
    }
  }
  queue_pair_->submit();
}

void Link::arrived(View bytes) {
  watch_.message();
  check(bytes);
  Call call;
  try {
    View payload;
    call.header = decode_header(bytes, payload);
    if (call.header.procedure == kError) return;
    call.payload.assign(payload.begin(), payload.end());
    const bool is_reply = payload.size() >= 8 && In(payload.subspan(4)).u32() == 1;
    if (is_reply) return;  // the answer to a reverse call
  } catch (const DecodeError&) {
    return;  // check() has reported it
  }
  if (call.header.procedure == kMsg) {
    try {
      call.rpc = decode_call(call.payload);
    } catch (const DecodeError& error) {
      // If the call has Read chunks, the inline payload is incomplete, and this error proves nothing. The payload is
      // decoded again when the chunks have been read.
      if (!call.has_reads())
        return watch_.broken(Always::decodable, fmt::format("RPC call: {}: {}", error.what(), hex(call.payload)));
    }
  }
  call.on_link = ++calls_;
  events_.on_call(*this, std::move(call));
}

}  // namespace rpcrdma::conform::client
