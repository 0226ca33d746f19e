// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "rpcrdma/rpc/server_call_state.hpp"

namespace rpcrdma::rpc {
namespace {

/// Copies `from` to the buffers `to`, in order; false if they are too small.
bool scatter(Octets from, std::span<const BufferRef> to) noexcept {
  for (const BufferRef& part : to) {
    const std::size_t step = std::min<std::size_t>(from.size(), part.size);
    if (step != 0) std::memcpy(part.data, from.data(), step);
    from = from.subspan(step);
  }
  return from.empty();
}

}  // namespace

void fetch(transport::IncomingCall& call, const bulk_data& data, std::span<const BufferRef> destination,
           transport::IncomingCall::Handler handler) {
  if (data.kind == bulk_kind::item) return call.pull(data.item, destination, std::move(handler));
  const bool copied = data.kind == bulk_kind::octets && scatter(data.octet_span(), destination);
  handler(copied ? error_code() : make_error_code(BaseError::invalid_argument));
}

}  // namespace rpcrdma::rpc
