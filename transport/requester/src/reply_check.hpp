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
  std::uint32_t max_reply = 0;  ///< maximum size of the reply in bytes, without the items that `results` receives
};

/// True if the header of a reply breaks a rule that the decoder does not check: it has a Read list, or it is the header
/// of an RDMA_NOMSG without a Reply chunk. The requester then discards the reply without answering it, and the call
/// stays pending.
bool is_broken_header(const wire::Header& reply) noexcept;

/// Makes `out` the payload of the reply: the stream, and the results in Write chunks. `out` refers to the memory that
/// `context` names. Returns TransportError::bad_reply if the reply does not fit its call.
error_code accept_reply(const ReplyContext& context, const wire::Header& reply, Payload& out);

}  // namespace rpcrdma::transport
