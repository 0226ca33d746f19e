// SPDX-License-Identifier: BSD-3-Clause
#include "receive_side.hpp"

#include "error.hpp"

namespace rpcrdma::fabric::verbs {

ReceiveSide::ReceiveSide(std::uint32_t depth) : ring_(depth) {
  chain_.reserve(depth);
  pieces_.reserve(depth);
}

error_code ReceiveSide::append(BufferRef buffer, WorkContext* context) {
  if (used_ == ring_.size()) return FabricError::queue_full;
  if (buffer.size != 0 && buffer.local_key == 0) return BaseError::invalid_argument;
  ibv_sge& piece = pieces_.emplace_back();
  piece = {.addr = reinterpret_cast<std::uintptr_t>(buffer.data), .length = buffer.size, .lkey = buffer.local_key};
  ibv_recv_wr& request = chain_.emplace_back();
  request = {.wr_id = tail_, .next = nullptr, .sg_list = &piece, .num_sge = buffer.size != 0 ? 1 : 0};
  ring_[tail_++ % ring_.size()] = context;
  ++used_;
  return {};
}

error_code ReceiveSide::submit(ibv_qp* queue_pair) {
  if (chain_.empty()) return {};
  for (std::size_t i = 0; i + 1 < chain_.size(); ++i) chain_[i].next = &chain_[i + 1];
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(queue_pair, chain_.data(), &refused);
  chain_.clear();
  pieces_.clear();
  if (error == 0) return {};
  return error > 0 ? system_error(error) : last_error();
}

bool ReceiveSide::take(WorkContext*& context) noexcept {
  if (head_ == tail_) return false;
  context = ring_[head_++ % ring_.size()];
  if (context == nullptr) --used_;
  return true;
}

}  // namespace rpcrdma::fabric::verbs
