// SPDX-License-Identifier: BSD-3-Clause
// Operation. The loss of the device shows in several ways: a removal event of the anchor, of a queue pair or of a
// listener, DEVICE_FATAL, or a notification by another thread. The first one triggers everything. While there are
// listeners a timer looks for the device; otherwise connecting and accepting look, and polling for a while after a
// refusal.
// Ownership. Queue pairs and listeners belong to the user and are listed here as long as they exist.
// Error handling. A device that differs from the removed one stays lost.
#include "device/device_lifecycle.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "blocking_call.hpp"
#include "error.hpp"
#include "listener.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLastPause{4000};
// About ten seconds in eleven steps: the kernel first notifies its own users, whose clean-up may take long.
constexpr std::chrono::milliseconds kFirstDoubt{5};
constexpr std::chrono::milliseconds kLastDoubt{5120};

}  // namespace

Result<std::shared_ptr<DeviceLifecycle>> DeviceLifecycle::make(boost::asio::io_context& context, CmId anchor,
                                                               const VerbsOptions& options, Log log) {
  auto events = EventChannel::make(context);
  if (!events) return events.error();
  auto device = std::make_shared<Device>(to_endpoint(*rdma_get_local_addr(anchor.get()), 0), options, log);
  auto self = std::make_shared<DeviceLifecycle>(
      context, std::move(*events), std::make_shared<CompletionChannel>(context), std::move(device), std::move(log));
  if (const error_code failed = self->attach(std::move(anchor))) return failed;
  return self;
}

DeviceLifecycle::DeviceLifecycle(boost::asio::io_context& context, std::shared_ptr<EventChannel> events,
                                 std::shared_ptr<CompletionChannel> completions, std::shared_ptr<Device> device,
                                 Log log)
    : context_(context),
      events_(std::move(events)),
      completions_(std::move(completions)),
      device_(std::move(device)),
      async_events_(std::make_shared<AsyncEvents>(
          context, [this](SharedContext::Loss loss) { lose(loss); }, log)),
      log_(std::move(log)),
      timer_(context),
      doubt_timer_(context) {}

DeviceLifecycle::~DeviceLifecycle() {
  async_events_->detach();
  completions_->detach();  // a cancelled wait would keep the channel longer than the device exists
  if (device_->attached()) {
    device_->use().leave(this);
    device_->set_handler(nullptr);
  }
}

error_code DeviceLifecycle::attach(CmId anchor) {
  error_code failed = device_->attach(std::move(anchor), events_->channel());
  if (failed) return failed;
  failed = completions_->attach(device_->context());
  if (!failed) failed = async_events_->attach(device_->context(), device_->use());
  if (failed) {
    completions_->detach();
    device_->detach();
    return failed;
  }
  device_->set_handler(this);
  device_->use().enter(this, [&context = context_, self = weak_from_this()] {
    boost::asio::post(context, [self] {
      const auto alive = self.lock();
      // Unless the loss was noticed here meanwhile, and the device is back.
      if (alive && alive->device_->attached() && alive->device_->use().lost()) alive->lose(SharedContext::Loss::heard);
    });
  });
  if (!device_->use().lost()) return {};
  // Other fabrics still hold it, and no further notification would come.
  let_go();
  return FabricError::device_lost;
}

error_code DeviceLifecycle::ensure() {
  if (losing_) return FabricError::device_lost;
  if (device_->attached() && events_->idle()) look();
  // Another thread may have noticed the loss; its notification is on the way.
  if (device_->attached()) return device_->use().lost() ? error_code(FabricError::device_lost) : error_code();
  auto anchor = find_device_at(device_->address().address());
  if (!anchor) return FabricError::device_lost;
  if (const error_code failed = attach(std::move(*anchor))) {
    log_refused(failed);
    return FabricError::device_lost;
  }
  refused_ = {};
  log_.debug("verbs: {} at {} is back", device_->name(), device_->address().address().to_string());
  return {};
}

// Once for each reason: the state may last, and is checked repeatedly.
void DeviceLifecycle::log_refused(error_code why) {
  if (why == FabricError::device_lost || why == refused_) return;
  refused_ = why;
  std::string reason = why.message();
  if (why == FabricError::unsupported) reason = "the device that came back differs from the one that was removed";
  log_.warn("verbs: the device at {} is back but cannot be used yet: {}", device_->address().address().to_string(),
            reason);
}

// Nothing waits for the device's events while there is only the anchor. They may arrive a little later than binding
// fails, so a failure proves nothing. If another device has the address now, this one may still exist, and is released.
// False if the device may be in the middle of its removal.
bool DeviceLifecycle::look() {
  events_->look();
  async_events_->look();
  if (!device_->attached()) return true;
  const auto found = find_device_at(device_->address().address());
  if (found && (*found)->verbs != device_->context()) {
    end_queue_pairs();  // they have ended, but each has an id until the user destroys it
    let_go();
  }
  return found.has_value();
}

error_code DeviceLifecycle::refused(error_code why) {
  // ENXIO: the id was bound, and has gone with the device.
  if (why != system_error(ENODEV) && why != system_error(ENXIO) && why != FabricError::device_lost) return why;
  if (!in_doubt_) {
    doubt_pause_ = kFirstDoubt;
    look_later();
  }
  return FabricError::device_lost;
}

void DeviceLifecycle::look_later() {
  in_doubt_ = true;
  doubt_timer_.expires_after(doubt_pause_);
  doubt_timer_.async_wait([self = weak_from_this()](boost::system::error_code cancelled) {
    const auto alive = self.lock();
    if (cancelled || !alive) return;
    alive->in_doubt_ = false;
    if (!alive->device_->attached()) return;
    // While an Interest exists, its wait reads the events; otherwise they are read here.
    if (alive->events_->idle() && alive->look()) return;
    alive->doubt_pause_ *= 2;
    if (alive->doubt_pause_ <= kLastDoubt) alive->look_later();
  });
}

void DeviceLifecycle::on_cm_event(CmEvent event) noexcept {
  if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) lose(SharedContext::Loss::removal);
}

void DeviceLifecycle::lose(SharedContext::Loss loss) {
  if (losing_ || !device_->attached()) return;
  const auto self = shared_from_this();
  losing_ = true;
  log_lost();
  device_->use().note_lost(this, loss);
  end_queue_pairs();
  for (VerbsListener* listener : listeners_) listener->suspend();
  let_go();
  losing_ = false;
  pause_ = kFirstPause;
  if (!listeners_.empty()) listen_later();
}

void DeviceLifecycle::let_go() {
  doubt_timer_.cancel();
  in_doubt_ = false;
  async_events_->detach();
  completions_->detach();
  device_->use().leave(this);
  BlockingCall::wait_for(device_.get());  // the rest of handshakes, which have been cancelled
  device_->detach();
}

// One error line for a server: its other threads' fabrics have no listeners.
void DeviceLifecycle::log_lost() {
  const std::string address = device_->address().address().to_string();
  if (listeners_.empty())
    log_.debug("verbs: {} at {} is gone", device_->name(), address);
  else
    log_.error("verbs: {} at {} is gone: its connections end; listening again when it is back", device_->name(),
               address);
}

void DeviceLifecycle::end_queue_pairs() {
  for (VerbsQueuePair* queue_pair : queue_pairs_) queue_pair->on_device_lost();
}

void DeviceLifecycle::listen_later() {
  timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kLastPause);
  timer_.async_wait([self = weak_from_this()](boost::system::error_code cancelled) {
    const auto alive = self.lock();
    if (!cancelled && alive) alive->listen_again();
  });
}

void DeviceLifecycle::listen_again() {
  if (listeners_.empty()) return;  // the last one was destroyed after the timer had expired
  bool all = !ensure();
  if (all)
    for (VerbsListener* listener : listeners_) all = !listener->resume() && all;  // each may fail for its own reason
  if (!all) listen_later();
}

void DeviceLifecycle::remove(VerbsListener& listener) noexcept {
  std::erase(listeners_, &listener);
  if (listeners_.empty()) timer_.cancel();
}

}  // namespace rpcrdma::fabric::verbs
