// SPDX-License-Identifier: BSD-3-Clause
// Operation. Several events show that the device is lost: the removal event of the anchor, of a queue pair or of a
// listener, the end of the stream of asynchronous events, DEVICE_FATAL, or another device at the device's address. The
// first of them ends the fabric. Only one fabric on the device reads DEVICE_FATAL; it passes the event on to the other
// fabrics.
// Ownership. Queue pairs belong to the user, and are listed here until they are quiesced.
// Error handling. Only make() can fail. An object that cannot be released at once is released with the last object
// that needs it.
#include "core.hpp"

#include <boost/asio/post.hpp>
#include <cerrno>

#include "error.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {

Result<std::shared_ptr<Core>> Core::make(boost::asio::io_context& context, CmId anchor, const VerbsOptions& options,
                                         OpenDevices& devices, Log log) {
  auto events = EventChannel::make(context);
  if (!events) return events.error();
  auto self = std::make_shared<Core>(context, options, std::move(log));
  self->events = std::move(*events);
  auto device = Device::make(std::move(anchor), self->events->channel(), options, devices, self->log);
  if (!device) return device.error();
  self->device = std::move(*device);
  if (const error_code failed = self->completions->attach(self->device->context())) return failed;
  if (const error_code failed = self->async_events->attach(self->device->context())) return failed;
  self->device->set_handler(self.get());
  self->use_ = self->device->use();
  self->user_ = self->use_->enter([&context, weak = self->weak_from_this()] {
    boost::asio::post(context, [weak] {
      if (const auto core = weak.lock()) core->lose(AsyncEvents::Loss::fault);
    });
  });
  return self;
}

Core::Core(boost::asio::io_context& io_context, const VerbsOptions& wanted, Log to)
    : context(io_context),
      options(wanted),
      log(std::move(to)),
      calls(boost::asio::use_service<BlockingCalls>(io_context)),
      completions(std::make_shared<CompletionChannel>(io_context)),
      async_events(std::make_shared<AsyncEvents>(
          io_context, [this](AsyncEvents::Loss loss) { lose(loss); }, log)) {}

error_code Core::refused(error_code why) noexcept {
  // The kernel returns ENXIO if the rdma_cm_id was bound to a device that has been removed since.
  return why == system_error(ENODEV) || why == system_error(ENXIO) ? error_code(FabricError::device_lost) : why;
}

void Core::on_cm_event(CmEvent event) noexcept {
  if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) lose(AsyncEvents::Loss::removal);
}

void Core::lose(AsyncEvents::Loss loss) {
  if (lost_) return;
  lost_ = true;
  const auto use = use_;
  leave_device();
  if (use && loss == AsyncEvents::Loss::fault) use->note_failed();
  if (loss == AsyncEvents::Loss::removal) device->note_removed();
  for (VerbsQueuePair* queue_pair : queue_pairs_) queue_pair->on_device_lost();
  async_events->detach();
  completions->detach();
  boost::asio::post(context, [self = shared_from_this()] {
    if (auto handler = std::move(self->on_end)) handler(FabricError::device_lost);
  });
}

void Core::leave_device() noexcept {
  if (use_) std::exchange(use_, nullptr)->leave(user_);
}

void Core::close() noexcept {
  leave_device();
  on_end.reset();
  async_events->detach();
  completions->detach();  // a pending wait would keep the channel after the device is closed
  if (events != nullptr) events->detach();
  if (device == nullptr || device->hold() == nullptr) return;
  device->set_handler(nullptr);
  if (lost_) device->release();
}

}  // namespace rpcrdma::fabric::verbs
