// SPDX-License-Identifier: BSD-3-Clause
// Operation: posting checks the state and hands the work to its queue; submit() permits its transmission. Finished work
// leaves its queue in order of posting and is passed to the dispatcher, which runs the callbacks from the io_context:
// at the end of a handler of the stream, or in a handler that wake() posts, or at the end of the handler that calls
// submit() (HandlerScope).
// Error handling: work that cannot be posted is refused at once and changes nothing. Outstanding work of a connection
// that ended completes as flushed, in order.
#include "stream/stream.hpp"

namespace rpcrdma::fabric::iwarp {

Stream::Stream(std::shared_ptr<FabricState> fabric, QueuePairOptions options, QueuePairEvents& events)
    : fabric_(std::move(fabric)),
      options_(std::move(options)),
      dispatcher_(fabric_->context, events, fabric_->counters, this),
      socket_(fabric_->context),
      timer_(fabric_->context),
      exposures_(*fabric_),
      sends_(*fabric_, dispatcher_, options_.send_depth),
      receives_(*fabric_, dispatcher_, options_.receive_depth),
      responder_(exposures_),
      linger_(fabric_->context) {
  dispatcher_.reserve(std::size_t{options_.send_depth} + options_.receive_depth);
}

error_code Stream::post_receive(BufferRef buffer, WorkContext* context) {
  if (state_.over()) return FabricError::not_connected;
  return receives_.post(buffer, context);
}

// [5041-6.2-c] work is refused once the connection is ending
error_code Stream::post_send(std::span<const BufferRef> gather, const SendOptions& options, WorkContext* context) {
  if (!state_.accepts_work()) return FabricError::not_connected;
  return sends_.post_send(gather, options, context);
}

error_code Stream::post_write(std::span<const BufferRef> gather, std::uint32_t handle, std::uint64_t offset,
                              WorkContext* context) {
  if (!state_.accepts_work()) return FabricError::not_connected;
  return sends_.post_write(gather, handle, offset, context);
}

error_code Stream::post_read(BufferRef sink, std::uint32_t handle, std::uint64_t offset, WorkContext* context) {
  if (!state_.accepts_work()) return FabricError::not_connected;
  if (agreement_.outbound_reads == 0) return FabricError::unsupported;
  return sends_.post_read(sink, handle, offset, context);
}

Result<Segment> Stream::bind(Exposure& exposure, BufferRef memory, Access access) {
  if (!state_.accepts_work()) return make_error_code(FabricError::not_connected);
  return exposures_.bind(exposure, memory, access);
}

error_code Stream::invalidate(Exposure& exposure, WorkContext* context) {
  if (!exposures_.owns(exposure) || exposure.invalidating) return BaseError::invalid_argument;
  if (!state_.accepts_work()) return FabricError::not_connected;
  if (const error_code error = sends_.post_invalidate(exposure, context)) return error;
  exposures_.unbind(exposure);  // [5041-8.3.1-e] from here on, frames that name the window are refused
  return {};
}

void Stream::submit() {
  if (!state_.accepts_work()) return;
  sends_.submit();
  transmit();
  dispatcher_.wake_soon(shared_from_this());
}

/// Called while the window of `exposure` is being destroyed. The user may free the memory of the window afterwards. If
/// a Write that is being placed or a Read Response still uses this memory (Exposure::pins), the connection is ended.
void Stream::forget(Exposure& exposure) noexcept {
  if (exposure.pins != 0) {
    end(BaseError::cancelled, Parting::reset);
    wake();
  }
  exposures_.forget(exposure);
  sends_.forget(exposure);
  receives_.forget(exposure);
}

/// [5040-5.5-f] [5040-5.5-a] the work of each queue completes in order of posting
void Stream::retire() noexcept {
  sends_.retire();
  receives_.retire();
}

/// [5041-6.2.2-b] [5040-5.4-e] outstanding work completes with an error
void Stream::flush() noexcept {
  responder_.flush();
  exposures_.release();
  retire();
  sends_.flush();
  receives_.flush();
}

/// Ends a handler of the stream: runs the callbacks, then transmits what is due.
void Stream::progress() {
  dispatcher_.run();
  on_dispatched();
}

void Stream::on_dispatched() noexcept {
  transmit();
  wake();
}

}  // namespace rpcrdma::fabric::iwarp
