// SPDX-License-Identifier: BSD-3-Clause
#include "send_side.hpp"

#include <algorithm>
#include <utility>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {

SendSide::SendSide(const Limits& limits)
    // Each operation of the user may be followed by a slot of kind `flush`, and one probe may be outstanding.
    : limits_(limits), ring_(2 * std::size_t{limits.depth} + 3) {
  chain_.reserve(device_depth(limits.depth));
  pieces_.reserve(std::size_t{device_depth(limits.depth)} * limits.max_gather);
}

Result<ibv_send_wr*> SendSide::append(std::span<const BufferRef> gather, bool may_inline, WorkContext* context,
                                      std::uint32_t window) {
  std::size_t bytes = 0;
  bool registered = true;
  for (const BufferRef& buffer : gather) {
    bytes += buffer.size;
    registered = registered && (buffer.local_key != 0 || buffer.size == 0);
  }
  const bool inlined = may_inline && bytes <= limits_.max_inline;
  if (gather.size() > limits_.max_gather || (!registered && !inlined)) return BaseError::invalid_argument;

  const std::uint64_t number = tail_;
  push({.context = context, .window = window, .kind = Slot::Kind::request, .prompt = context != nullptr});
  ibv_send_wr& request = chain_request(number);
  run_before_ = unsignalled_run_;
  if (context != nullptr || unsignalled_run_ + 1 >= limits_.signal_interval) {
    request.send_flags |= IBV_SEND_SIGNALED;
    unsignalled_run_ = 0;
  } else {
    ++unsignalled_run_;
  }
  if (inlined && bytes != 0) request.send_flags |= IBV_SEND_INLINE;
  request.sg_list = pieces_.data() + pieces_.size();
  for (const BufferRef& buffer : gather) {
    if (buffer.size == 0) continue;
    pieces_.push_back(
        {.addr = reinterpret_cast<std::uintptr_t>(buffer.data), .length = buffer.size, .lkey = buffer.local_key});
    ++request.num_sge;
  }
  return &request;
}

void SendSide::retract() noexcept {
  pieces_.resize(pieces_.size() - static_cast<std::size_t>(chain_.back().num_sge));
  chain_.pop_back();
  unsignalled_run_ = run_before_;
  if (ring_[--tail_ % ring_.size()].prompt) --prompt_;
  --used_;
}

void SendSide::set_sink(Registration sink) noexcept {
  chain_.back().sg_list->lkey = sink->lkey;
  ring_[(tail_ - 1) % ring_.size()].sink = std::move(sink);
}

void SendSide::note_read(std::uint32_t depth) noexcept {
  ring_[(tail_ - 1) % ring_.size()].read = true;
  if (++reads_ > depth) ++read_waits_;
}

void SendSide::note_deferred() noexcept {
  if (std::exchange(ring_[(tail_ - 1) % ring_.size()].prompt, false)) --prompt_;
}

void SendSide::append_software(WorkContext* context, std::uint32_t window) {
  require_signal();
  push({.context = context, .window = window, .kind = Slot::Kind::software, .prompt = true});
}

void SendSide::require_signal() {
  if (unsignalled_run_ == 0) return;
  unsignalled_run_ = 0;
  if (!chain_.empty()) {
    chain_.back().send_flags |= IBV_SEND_SIGNALED;
    return;
  }
  append_nothing(Slot::Kind::flush);
}

void SendSide::append_probe() {
  unsignalled_run_ = 0;
  probing_ = true;
  append_nothing(Slot::Kind::probe);
}

// Appends an empty RDMA Write. It needs no valid handle, because the peer's device does not check an empty Write
// against any region (InfiniBand Architecture C9-88, RFC 5041 section 5.2). Unless Limits::overtaking is set, its
// completion shows that all work before it is complete.
void SendSide::append_nothing(Slot::Kind kind) {
  const std::uint64_t number = tail_;
  push({.context = nullptr, .window = 0, .kind = kind});
  ibv_send_wr& request = chain_request(number);
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
}

error_code SendSide::submit(ibv_qp* queue_pair) {
  if (chain_.empty()) return {};
  if (chain_has_bind_ && unsignalled_run_ != 0) require_signal();
  chain_has_bind_ = false;
  for (std::size_t i = 0; i + 1 < chain_.size(); ++i) chain_[i].next = &chain_[i + 1];
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(queue_pair, chain_.data(), &refused);
  chain_.clear();
  pieces_.clear();
  // Some providers return -1 and set errno, others return the errno value.
  if (error == 0) return {};
  return error > 0 ? system_error(error) : last_error();
}

void SendSide::disarm_invalidation(std::uint32_t key) noexcept {
  for (ibv_send_wr& request : chain_) {
    if (request.opcode != IBV_WR_LOCAL_INV || request.invalidate_rkey != key) continue;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma = {.remote_addr = 0, .rkey = 0};
  }
}

void SendSide::note_done(std::uint64_t number, error_code status) noexcept {
  if (number < head_ || number >= tail_) return;
  Slot& slot = ring_[number % ring_.size()];
  slot.done = true;
  slot.status = status;
}

bool SendSide::take_until(std::uint64_t last, Slot& slot, std::uint64_t& number) noexcept {
  if (head_ == tail_) return false;
  const Slot& oldest = ring_[head_ % ring_.size()];
  const bool complete = limits_.overtaking ? oldest.done || oldest.kind == Slot::Kind::software : head_ <= last;
  if (!complete) return false;
  number = head_;
  slot = pop();
  return true;
}

bool SendSide::take_software(Slot& slot) noexcept {
  if (head_ == tail_ || ring_[head_ % ring_.size()].kind != Slot::Kind::software) return false;
  slot = pop();
  return true;
}

bool SendSide::take_any(Slot& slot) noexcept {
  if (head_ == tail_) return false;
  slot = pop();
  return true;
}

void SendSide::release_device() noexcept {
  for (Slot& slot : ring_) slot.sink.reset();
}

void SendSide::push(Slot slot) {
  if (is_users(slot.kind)) ++used_;
  if (slot.prompt) ++prompt_;
  ring_[tail_++ % ring_.size()] = std::move(slot);
}

SendSide::Slot SendSide::pop() noexcept {
  Slot slot = std::move(ring_[head_ % ring_.size()]);
  ++head_;
  if (is_users(slot.kind) && slot.context == nullptr) --used_;
  if (slot.kind == Slot::Kind::probe) probing_ = false;
  if (slot.read) --reads_;
  if (slot.prompt) --prompt_;
  return slot;
}

ibv_send_wr& SendSide::chain_request(std::uint64_t number) {
  ibv_send_wr& request = chain_.emplace_back();
  request = {};
  request.wr_id = number;
  return request;
}

}  // namespace rpcrdma::fabric::verbs
