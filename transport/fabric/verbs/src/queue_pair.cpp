// SPDX-License-Identifier: BSD-3-Clause
// Operation. Posting appends to a chain. submit() passes the chains to the device, receives first: a Send that grants
// credits must not precede the receives that these credits promise. Receives do not need submit(): they are passed to
// the device at once or, if a callback posts them, at the latest after the callbacks.
// Ownership. The queue pair owns its rdma_cm id, its completion queues and the device's queue pair (through the id),
// until it leaves them to a thread that waits for the kernel (ending.cpp).
// Error handling. If the device refuses work at submit(), the connection ends, from the io_context.
#include "queue_pair.hpp"

#include <algorithm>

#include "error.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::uint32_t kLittleInline = 64;

SendSide::Limits send_limits(const Core& core, const QueuePairOptions& options) {
  const DeviceLimits& limits = core.device->limits();
  const std::uint32_t interval = std::max(1u, std::min(core.options.signal_interval, options.send_depth / 4));
  return {.depth = options.send_depth,
          .max_gather = limits.max_gather,
          .max_inline = 0,
          .signal_interval = limits.overtakes_reads ? 1 : interval,
          .overtaking = limits.overtakes_reads};
}

}  // namespace

Result<std::unique_ptr<QueuePair>> VerbsQueuePair::make(const std::shared_ptr<Core>& core, CmId id, Role role,
                                                        const ConnectionInfo& request, QueuePairOptions options,
                                                        QueuePairEvents& events) {
  const DeviceLimits& limits = core->device->limits();
  if (id->verbs != core->device->context()) return FabricError::no_device;
  if (options.send_depth == 0 || options.receive_depth == 0 || options.private_data.size() > UINT8_MAX ||
      SendSide::device_depth(options.send_depth) > limits.max_work || options.receive_depth > limits.max_work)
    return BaseError::invalid_argument;
  auto queue_pair = std::make_unique<VerbsQueuePair>(core, std::move(id), role, request, std::move(options), events);
  if (const error_code error = queue_pair->create()) return error;
  return queue_pair;
}

VerbsQueuePair::VerbsQueuePair(const std::shared_ptr<Core>& core, CmId id, Role role, const ConnectionInfo& request,
                               QueuePairOptions options, QueuePairEvents& events)
    : core_(core),
      role_(role),
      options_(std::move(options)),
      info_(request),
      id_(std::move(id)),
      received_(*core->completions, *this),
      sent_(*core->completions, *this),
      sends_(send_limits(*core, options_)),
      receives_(options_.receive_depth),
      windows_(std::make_shared<WindowTable>(core->device)),
      dispatcher_(std::make_shared<CompletionDispatcher>(core->context, events, core->counters,
                                                         static_cast<CompletionDispatcher::Owner*>(this))),
      timer_(core->context),
      peer_watch_(core->context, core->options.keepalive, *this),
      deferral_(core->context),
      linger_(core->context) {
  dispatcher_->reserve(options_.send_depth + options_.receive_depth);
  if (role_ == Role::connector) {
    info_.number = options_.number != 0 ? options_.number : core_->options.next_number();
    info_.fabric = kName;
  }
  log_ = core_->log.with(info_.subject());
  id_->context = static_cast<CmHandler*>(this);
  core_->add(*this);
}

VerbsQueuePair::~VerbsQueuePair() { quiesce(); }

void VerbsQueuePair::quiesce() noexcept {
  dispatcher_->quiesce();
  timer_.cancel();
  deferral_.cancel();
  peer_watch_.stop();
  core_->remove(*this);
  release_device();
  drop_id();
  state_ = State::ended;
}

bool VerbsQueuePair::advance(Event event) noexcept {
  const auto next = next_state(state_, event);
  if (next) state_ = *next;
  return next.has_value();
}

error_code VerbsQueuePair::create() {
  const std::uint32_t send_depth = SendSide::device_depth(options_.send_depth);
  if (const error_code error = received_.make(options_.receive_depth)) return error;
  if (const error_code error = sent_.make(send_depth)) return error;
  if (const error_code error = received_.arm()) return error;

  ibv_qp_init_attr attributes{};
  attributes.qp_context = static_cast<CompletionHandler*>(this);
  attributes.send_cq = sent_.get();
  attributes.recv_cq = received_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = send_depth,
                    .max_recv_wr = options_.receive_depth,
                    .max_send_sge = core_->device->limits().max_gather,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  // The maximum size of inline data depends on the device and on the other attributes, and cannot be queried. Therefore
  // smaller sizes are tried until the device accepts one.
  for (const std::uint32_t most : {core_->options.max_inline, std::min(core_->options.max_inline, kLittleInline), 0u}) {
    attributes.cap.max_inline_data = most;
    if (rdma_create_qp(id_.get(), core_->device->domain(), &attributes) != 0) continue;
    sends_.set_max_inline(most);
    return {};
  }
  return last_error();
}

error_code VerbsQueuePair::may_post() const noexcept {
  if (state_ != State::established || ending_) return FabricError::not_connected;
  return sends_.full() ? error_code(FabricError::queue_full) : error_code();
}

error_code VerbsQueuePair::post_receive(BufferRef buffer, WorkContext* context) {
  if (state_ == State::ended || ending_) return FabricError::not_connected;
  if (const error_code error = receives_.append(buffer, context)) return error;
  ++core_->counters.work_requests;
  // Receives that callbacks post are passed to the device together, after the callbacks.
  if (!dispatcher_->running()) submit_receives();
  return {};
}

void VerbsQueuePair::submit_receives() {
  // After rdma_disconnect(), receives are not passed to the device: finish() flushes them. It also flushes receives
  // that the device refuses.
  if (!takes_work(state_) || ending_) return;
  const error_code error = receives_.submit(id_->qp);
  if (!error) return;
  log_.error("ending the connection: the device refused to post receives: {}", error.message());
  end_later(error);
}

error_code VerbsQueuePair::post_send(std::span<const BufferRef> gather, const SendOptions& options,
                                     WorkContext* context) {
  if (const error_code error = may_post()) return error;
  auto request = sends_.append(gather, /*may_inline=*/true, context);
  if (!request) return request.error();
  ++core_->counters.work_requests;
  ibv_send_wr& send = **request;
  send.opcode = IBV_WR_SEND;
  if (options.solicited) send.send_flags |= IBV_SEND_SOLICITED;
  // If the device does not support Send with Invalidate, posts a plain Send. The peer then invalidates the handle
  // itself (RFC 8166 section 4.4.1).
  if (options.invalidate && core_->device->limits().send_with_invalidate) {
    send.opcode = IBV_WR_SEND_WITH_INV;
    send.invalidate_rkey = *options.invalidate;
  }
  if (options.defer_completion) sends_.note_deferred();
  return {};
}

error_code VerbsQueuePair::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                                      WorkContext* context) {
  if (const error_code error = may_post()) return error;
  auto request = sends_.append(gather, /*may_inline=*/true, context);
  if (!request) return request.error();
  ++core_->counters.work_requests;
  ibv_send_wr& write = **request;
  write.opcode = IBV_WR_RDMA_WRITE;
  write.wr.rdma = {.remote_addr = offset, .rkey = handle};
  return {};
}

error_code VerbsQueuePair::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) {
  if (const error_code error = may_post()) return error;
  // With a read depth of 0 the device would never start the Read.
  if (info_.outbound_reads == 0) return FabricError::unsupported;
  auto request = sends_.append({&sink, 1}, /*may_inline=*/false, context);
  if (!request) return request.error();
  if (core_->device->limits().iwarp && sink.size != 0) {
    auto registration = core_->device->register_sink(sink);
    if (!registration) {
      sends_.retract();
      return registration.error();
    }
    sends_.set_sink(std::move(*registration));
  }
  ++core_->counters.work_requests;
  sends_.note_read(info_.outbound_reads);
  ibv_send_wr& read = **request;
  read.opcode = IBV_WR_RDMA_READ;
  read.wr.rdma = {.remote_addr = offset, .rkey = handle};
  return {};
}

Result<std::unique_ptr<Window>> VerbsQueuePair::make_window() {
  if (state_ == State::ended || ending_) return FabricError::not_connected;
  return windows_->make_window();
}

Result<Segment> VerbsQueuePair::bind(Window& window, BufferRef memory, Access access) {
  auto& exposure = static_cast<VerbsWindow&>(window);
  if (state_ != State::established || ending_) return FabricError::not_connected;
  if (exposure.state() != VerbsWindow::State::idle) return BaseError::invalid_argument;
  if (!exposure.on_device()) {
    if (const error_code error = exposure.expose(memory, access)) return error;
    return exposure.segment();
  }
  if (sends_.full()) return FabricError::queue_full;
  auto request = sends_.append({}, /*may_inline=*/false, nullptr);
  if (!request) return request.error();
  (*request)->opcode = IBV_WR_BIND_MW;
  if (const error_code error = exposure.prepare_bind(memory, access, **request)) {
    sends_.retract();
    return error;
  }
  sends_.note_bind();
  ++core_->counters.work_requests;
  return exposure.segment();
}

error_code VerbsQueuePair::invalidate(Window& window, WorkContext* context) {
  auto& exposure = static_cast<VerbsWindow&>(window);
  if (const error_code error = may_post()) return error;
  switch (exposure.state()) {
    case VerbsWindow::State::invalidating: return BaseError::invalid_argument;
    case VerbsWindow::State::bound:
      if (exposure.on_device()) return invalidate_key(exposure, context);
      exposure.conceal();
      exposure.set_invalidating();
      break;
    // The window is not exposed, usually because the peer has invalidated it. The device must not invalidate it again,
    // because that would crash rxe. The operation completes without a work request.
    case VerbsWindow::State::idle: break;
  }
  sends_.append_software(context, exposure.serial());
  ++core_->counters.work_requests;
  schedule_poll();
  return {};
}

error_code VerbsQueuePair::invalidate_key(VerbsWindow& window, WorkContext* context) {
  auto request = sends_.append({}, /*may_inline=*/false, context, window.serial());
  if (!request) return request.error();
  ++core_->counters.work_requests;
  (*request)->opcode = IBV_WR_LOCAL_INV;
  (*request)->invalidate_rkey = window.segment().handle;
  window.set_invalidating();
  return {};
}

void VerbsQueuePair::submit() {
  submit_receives();
  if (!takes_work(state_) || ending_) return;
  if (!polling_ && expect_sends().failed()) return end_later(FabricError::device_lost);
  const error_code error = sends_.submit(id_->qp);
  if (!error) return;
  log_.error("ending the connection: the device refused to post work requests: {}", error.message());
  end_later(error);
}

}  // namespace rpcrdma::fabric::verbs
