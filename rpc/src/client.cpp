// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/client.hpp"

namespace rpcrdma::rpc {
namespace {

/// The size of the memory for a result, rounded up to a multiple of 4 like ReplyBound::bulk.
std::uint64_t room_of(std::span<const BufferRef> result) noexcept {
  std::uint64_t size = 3;
  for (const BufferRef& part : result) size += part.size;
  return size & ~std::uint64_t{3};
}

}  // namespace

void Client::fill(ClientCall& call, ReplyBound bound, const ProcedureInfo& info, const CallOptions& options,
                  error_code& failed) {
  // [8267-4-a] [8166-4.3.2-b] only procedures with eligible results have a Write list
  if (options.results.size() > info.eligible_results) failed = BaseError::invalid_argument;
  call.xid = core_->any_thread() ? 0 : requester().next_xid();
  // [8166-6.2-a] the largest possible reply, without the results in Write chunks
  std::uint64_t max_reply = bound.fixed;
  for (std::size_t i = 0; i < bound.bulk.size(); ++i) {
    if (i >= options.results.size())
      max_reply += bound.bulk[i];
    else if (room_of(options.results[i]) < bound.bulk[i])  // [8166-4.3.2.2-b] each Write chunk holds the largest result
      failed = BaseError::invalid_argument;
  }
  call.count_as(info);
  call.max_reply = static_cast<std::uint32_t>(std::min<std::uint64_t>(max_reply, UINT32_MAX));
  call.deadline = options.deadline ? *options.deadline : std::chrono::steady_clock::now() + options_.timeout;
  call.results.resize(options.results.size());
  for (std::size_t i = 0; i < options.results.size(); ++i) call.results[i] = options.results[i];
}

}  // namespace rpcrdma::rpc
