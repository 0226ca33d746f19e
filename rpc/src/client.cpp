// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/client.hpp"

namespace rpcrdma::rpc {
namespace {

/// Octets of results that the given memory can take; pads count, as they do in ReplyBound::bulk.
std::uint64_t room_of(const CallOptions& options) noexcept {
  std::uint64_t room = 0;
  for (const std::span<const BufferRef> result : options.results) {
    std::uint64_t size = 3;
    for (const BufferRef& part : result) size += part.size;
    room += size & ~std::uint64_t{3};
  }
  return room;
}

}  // namespace

void Client::fill(ClientCall& call, ReplyBound bound, const ProcedureInfo& info, const CallOptions& options,
                  error_code& failed) {
  // [8267-4-a] [8166-4.3.2-b] a Write list only for procedures with eligible results
  if (options.results.size() > info.eligible_results) failed = BaseError::invalid_argument;
  call.xid = requester().next_xid();
  // [8166-6.2-a] the largest reply that there can be; what goes into chunks is left out
  const bool all_reduced = options.results.size() == info.eligible_results;
  // [8166-4.3.2.2-b] what is offered has room for the largest results that may come
  if (all_reduced && room_of(options) < bound.bulk) failed = BaseError::invalid_argument;
  call.max_reply = bound.fixed;
  if (!all_reduced) call.max_reply += std::min(bound.bulk, UINT32_MAX - bound.fixed);
  call.deadline = options.deadline.value_or(std::chrono::steady_clock::now() + options_.timeout);
  call.results.resize(options.results.size());
  for (std::size_t i = 0; i < options.results.size(); ++i)
    call.results[i].assign(options.results[i].begin(), options.results[i].end());
}

}  // namespace rpcrdma::rpc
