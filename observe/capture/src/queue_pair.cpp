// SPDX-License-Identifier: BSD-3-Clause
#include "queue_pair.hpp"

#include <utility>

#include "endpoint.hpp"

namespace rpcrdma::capture {
namespace {

const char* text_of(fabric::Access access) noexcept {
  return access == fabric::Access::remote_read ? "read" : "written";
}

Opcode opcode_of(bool solicited, bool invalidates) noexcept {
  if (invalidates) return solicited ? Opcode::send_solicited_invalidate : Opcode::send_invalidate;
  return solicited ? Opcode::send_solicited : Opcode::send;
}

}  // namespace

CapturedQueuePair::CapturedQueuePair(std::shared_ptr<Recorder> recorder, Side side, fabric::QueuePairEvents& user)
    : recorder_(std::move(recorder)), side_(std::move(side)), user_(user) {}

CapturedQueuePair::~CapturedQueuePair() {
  inner_.reset();
  recorder_->close(track_, {});
}

error_code CapturedQueuePair::post_receive(BufferRef buffer, fabric::WorkContext* context) {
  Posted& posted = post(buffer, context, true);
  const error_code failed = inner_->post_receive(buffer, &posted);
  if (failed) posted_.give_back(posted);
  return failed;
}

error_code CapturedQueuePair::post_send(std::span<const BufferRef> gather, const fabric::SendOptions& options,
                                        fabric::WorkContext* context) {
  if (const error_code failed = inner_->post_send(gather, options, context)) return failed;
  if (!recorder_->active()) return {};
  if (!side_.reports_access && !gather.empty()) peer_access_.sent(gather.front().octets());
  recorder_->send(track_, kOutbound, opcode_of(options.solicited, options.invalidate.has_value()),
                  options.invalidate.value_or(0), gather);
  return {};
}

error_code CapturedQueuePair::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                         fabric::WorkContext* context) {
  if (const error_code failed = inner_->post_write(gather, handle, offset, context)) return failed;
  recorder_->write(track_, kOutbound, handle, offset, gather);
  return {};
}

error_code CapturedQueuePair::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset,
                                        fabric::WorkContext* context) {
  Posted& posted = post(sink, context, false);
  if (const error_code failed = inner_->post_read(sink, handle, offset, &posted)) {
    posted_.give_back(posted);
    return failed;
  }
  posted.sink = recorder_->read_request(track_, kOutbound, handle, offset, sink.size);
  return {};
}

Result<Segment> CapturedQueuePair::bind(fabric::Window& window, BufferRef memory, fabric::Access access) {
  const Result<Segment> bound = inner_->bind(window, memory, access);
  if (!bound) return bound;
  if (!side_.reports_access) peer_access_.bound(*bound, memory, access);
  recorder_->event(track_, "bind: handle 0x{:08x}, {} bytes at offset 0x{:x}, may be {} by the peer", bound->handle,
                   bound->length, bound->offset, text_of(access));
  return bound;
}

error_code CapturedQueuePair::invalidate(fabric::Window& window, fabric::WorkContext* context) {
  const std::uint32_t handle = window.segment().handle;
  if (const error_code failed = inner_->invalidate(window, context)) return failed;
  if (!side_.reports_access) peer_access_.unbound(handle);
  recorder_->event(track_, "invalidate: handle 0x{:08x}, by this side", handle);
  return {};
}

void CapturedQueuePair::quiesce() noexcept {
  inner_->quiesce();
  recorder_->close(track_, {});
}

CapturedQueuePair::Posted& CapturedQueuePair::post(BufferRef buffer, fabric::WorkContext* user, bool receive) {
  Posted* idle = posted_.try_take();
  Posted& posted = idle != nullptr ? *idle : posted_.add(std::make_unique<Posted>(*this));
  posted.user = user;
  posted.buffer = buffer;
  posted.receive = receive;
  posted.sink = 0;
  return posted;
}

void CapturedQueuePair::completed(Posted& posted, const fabric::Completion& completion) noexcept {
  fabric::WorkContext* const user = posted.user;
  if (!completion.status && !recorder_->active()) {
    if (completion.invalidated) peer_access_.unbound(*completion.invalidated);
  } else if (!completion.status) {
    if (posted.receive)
      received(posted.buffer.slice(0, completion.length), completion);
    else
      recorder_->read_response(track_, kInbound, posted.sink, posted.buffer);
  }
  // `posted` is given back before the callback, so that a work request that the callback posts can use it again.
  posted_.give_back(posted);
  if (user != nullptr) user->on_completion(completion);
}

void CapturedQueuePair::received(BufferRef message, const fabric::Completion& completion) noexcept {
  if (!side_.reports_access)
    for (const AccessPart& part : peer_access_.received(message.octets())) show(part);
  if (completion.invalidated) peer_access_.unbound(*completion.invalidated);
  recorder_->send(track_, kInbound, opcode_of(false, completion.invalidated.has_value()),
                  completion.invalidated.value_or(0), {&message, 1});
}

void CapturedQueuePair::show(const AccessPart& part) noexcept {
  if (part.access == fabric::Access::remote_write) {
    recorder_->event(track_, "the RDMA Write that follows is inferred from the reply: the device does not report it");
    return recorder_->write(track_, kInbound, part.segment.handle, part.segment.offset, {&part.data, 1});
  }
  recorder_->event(track_, "the RDMA Read that follows is inferred from the reply: the device does not report it");
  const std::uint32_t sink =
      recorder_->read_request(track_, kInbound, part.segment.handle, part.segment.offset, part.data.size);
  recorder_->read_response(track_, kOutbound, sink, part.data);
}

void CapturedQueuePair::on_remote_write(std::uint32_t handle, std::uint64_t offset, Octets data) noexcept {
  const BufferRef part{const_cast<std::byte*>(data.data()), static_cast<std::uint32_t>(data.size()), 0};
  recorder_->write(track_, kInbound, handle, offset, {&part, 1});
}

void CapturedQueuePair::on_remote_read(std::uint32_t handle, std::uint64_t offset, Octets data) noexcept {
  const BufferRef part{const_cast<std::byte*>(data.data()), static_cast<std::uint32_t>(data.size()), 0};
  const std::uint32_t sink = recorder_->read_request(track_, kInbound, handle, offset, part.size);
  recorder_->read_response(track_, kOutbound, sink, part);
}

void CapturedQueuePair::open(const fabric::ConnectionInfo& info, bool refused, bool silent,
                             std::string remark) noexcept {
  auto connection = std::make_shared<Connection>();
  connection->number = info.number != 0 ? info.number : side_.number;
  connection->local = unmapped(info.local);
  connection->peer = unmapped(info.peer);
  connection->connector = side_.connector;
  connection->refused = refused;
  connection->silent = silent;
  connection->request_data = side_.connector ? side_.own_data : side_.peer_data;
  connection->reply_data = side_.connector ? info.private_data : side_.own_data;
  connection->remark = fmt::format("{}, {} by this side{}{}", side_.fabric, side_.connector ? "opened" : "accepted",
                                   remark, side_.remark);
  recorder_->open(track_, std::move(connection));
}

void CapturedQueuePair::on_established(const fabric::ConnectionInfo& info) noexcept {
  open(info, false, false,
       fmt::format("; RDMA Reads at a time: {} by this side, {} by the peer", info.outbound_reads, info.inbound_reads));
  user_.on_established(info);
}

void CapturedQueuePair::on_rejected(const fabric::ConnectionInfo& peer) noexcept {
  open(peer, true, false, {});
  user_.on_rejected(peer);
}

void CapturedQueuePair::on_disconnected(error_code why) noexcept {
  if (!track_.opened && side_.connector) {
    fabric::ConnectionInfo info;
    info.peer = side_.peer;
    info.local = {side_.peer.protocol(), 0};
    open(info, false, true, "; it failed: " + why.message());
  }
  recorder_->close(track_, why ? why.message() : std::string());
  user_.on_disconnected(why);
}

}  // namespace rpcrdma::capture
