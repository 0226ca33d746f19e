// SPDX-License-Identifier: BSD-3-Clause
// Operation. A received message is decoded once. It is passed to the user as a call, a reply (RFC 8167 section 2) or an
// error; Control processes optional messages.
// Ownership. The message stays in its receive buffer until its lease is released; then the receive is posted again,
// perhaps with a buffer of another size.
// Errors. After a failed receive the connection ends, and on_disconnected() reports the end. A message longer than its
// receive buffer aborts the connection.
#include "control.hpp"

namespace rpcrdma::transport {
namespace {

constexpr std::uint32_t kCall = 0;
constexpr std::uint32_t kReply = 1;

bool has_position_zero(const wire::ChunkLists& chunks) noexcept {
  for (const wire::ReadSegment& segment : chunks.reads)
    if (segment.position == 0) return true;
  return false;
}

}  // namespace

void Connection::received(ReceiveSlot& slot, const fabric::Completion& completion) noexcept {
  if (completion.status || ended_) return;
  in_batch_ = true;
  ++traffic_.receives;
  traffic_.receive_bytes += completion.length;
  traffic_.remote_invalidations += completion.invalidated ? 1 : 0;
  if (completion.length > slot.memory().size) return abort(fabric::FabricError::protocol_violation);
  Received message{header_, {}, completion.invalidated, ReceiveLease(*this, slot)};
  const BufferRef octets = slot.memory().slice(0, completion.length);
  const wire::DecodeResult header_size = wire::decode(octets.octets(), header_, decode_limits_);
  if (!header_size) return undecodable(header_size.error(), message);
  const auto size = static_cast<std::uint32_t>(*header_size);
  message.payload = octets.slice(size, octets.size - size);
  learn_version(header_);
  if (control_ != nullptr && header_.version == wire::kVersionTwo) control_->on_message(header_);
  dispatch(message);
}

void Connection::undecodable(wire::WireError error, Received& message) noexcept {
  const bool option = message.header.procedure == wire::Procedure::optional &&
                      (error == wire::WireError::bad_option || error == wire::WireError::bad_direction);
  // [xchar-2.1-a] An optional message with malformed content counts as an XDR error. control_ sends the answer.
  if (option && control_ != nullptr) return control_->on_malformed(message.header);
  events_->on_bad_message(error, message);
}

/// [v2-5.1-a] Settles the protocol version of the connection by the header of a received message. An RDMA_ERROR settles
/// nothing. A client whose version is not settled uses version two from the first message of version two on. A server
/// uses version two from the first message of version two on. Until then it uses the lowest version that it accepts.
void Connection::learn_version(const wire::Header& header) noexcept {
  if (header.procedure == wire::Procedure::error) return;
  const bool server = setup_.role == Role::server;
  if (header.version == wire::kVersionTwo) {
    if (server ? version_ != wire::kVersionTwo : !version_settled_) use_version_two();
  } else if (server) {
    version_settled_ = true;
  }
}

void Connection::dispatch(Received& message) noexcept {
  switch (message.header.procedure) {
    case wire::Procedure::error:
      count_error(message.header.error);
      message_log(message.header.xid).info("RDMA_ERROR {} received", name_of(message.header.error));
      if (control_ == nullptr || !control_->on_error(message.header)) events_->on_peer_error(message);
      return;
    case wire::Procedure::optional: return control_->on_option(message.header);
    case wire::Procedure::nomsg:
      // [v2-4.2.2-a] the header states the direction
      if (message.header.version >= wire::kVersionTwo)
        return message.header.direction == wire::Direction::call ? on_call(message) : events_->on_reply(message);
      // In version one only the RPC message states the direction. The RPC message of an RDMA_NOMSG is in a chunk that
      // has not been read yet. A message with a Position-Zero Read chunk is a call, because the Read list of a reply is
      // empty [8166-4.3.1-a].
      return has_position_zero(message.header.chunks) ? on_call(message) : events_->on_reply(message);
    default: break;
  }
  Reader reader(message.payload.octets());
  reader.u32();  // the XID, which the decoder has checked
  const std::uint32_t type = reader.u32();
  if (reader.ok() && type == kCall) return on_call(message);
  if (reader.ok() && type == kReply) return events_->on_reply(message);
  events_->on_bad_message(wire::WireError::bad_chunks, message);
}

void Connection::on_call(Received& message) noexcept {
  if (control_ != nullptr && setup_.role == Role::client) control_->on_reverse_call(!message.header.chunks.empty());
  events_->on_call(message);
}

}  // namespace rpcrdma::transport
