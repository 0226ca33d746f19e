// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Does a reply fit the call that it answers? (RFC 8166 sections 3.4.6, 4.3.3 and 6.1.) Pure.
#include <span>

#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/chunks/call_plan.hpp"

namespace rpcrdma::transport {

/// What the requester knows of a call when its reply has come.
struct ReplyContext {
  const wire::Header* sent = nullptr;  ///< the call's header: what was offered
  std::span<const boost::container::small_vector<BufferRef, 1>> results;
  BufferRef reply_memory;       ///< behind the Reply chunk
  BufferRef inline_payload;     ///< of the reply
  std::uint32_t max_reply = 0;  ///< the largest reply without results
};

/// True for what a requester discards without a sound, leaving the call pending: header errors of replies
/// that the decoder cannot see.
bool is_broken_header(const wire::Header& reply) noexcept;

/// Makes the payload of the reply, or TransportError::bad_reply.
error_code accept_reply(const ReplyContext& context, const wire::Header& reply, Payload& out);

}  // namespace rpcrdma::transport
