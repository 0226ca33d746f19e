// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Checks a reply against its call (RFC 8166 sections 3.4.6, 4.3.3 and 6.1). Pure functions.
#include <span>

#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/chunks/call_plan.hpp"

namespace rpcrdma::transport {

/// What accept_reply() needs in addition to the header of the reply.
struct ReplyContext {
  const wire::Header* sent = nullptr;  ///< the header of the call, with the chunks that were offered
  std::span<const boost::container::small_vector<BufferRef, 1>> results;
  BufferRef reply_memory;       ///< the memory of the Reply chunk
  BufferRef inline_payload;     ///< the inline payload of the reply
  std::uint32_t max_reply = 0;  ///< bytes of the largest reply, without the items that `results` receives
};

/// True for header errors that the decoder cannot detect: the requester discards the reply silently, and the call
/// stays pending.
bool is_broken_header(const wire::Header& reply) noexcept;

/// Assembles the payload of the reply, or returns TransportError::bad_reply.
error_code accept_reply(const ReplyContext& context, const wire::Header& reply, Payload& out);

}  // namespace rpcrdma::transport
