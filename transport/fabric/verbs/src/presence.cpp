// SPDX-License-Identifier: BSD-3-Clause
// Operation. The device's going is heard of in several ways, the event of the anchor's removal, one of a queue pair's
// or listener's, DEVICE_FATAL, or another thread's word; the first of them does it all. While there are listeners the
// device is looked for now and then; else by whoever wants to connect or accept, and for a while after that failed.
// Ownership. Queue pairs and listeners belong to the user and are known here as long as they live; callbacks that run
// when they end may destroy any of them.
// Error handling. A device that cannot be used as before stays lost.
#include "presence.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "aside.hpp"
#include "error.hpp"
#include "listener.hpp"
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLastPause{4000};
// Some ten seconds, in eleven steps: the kernel first tells its own users, which may have much to put away.
constexpr std::chrono::milliseconds kFirstDoubt{5};
constexpr std::chrono::milliseconds kLastDoubt{5120};

}  // namespace

Result<std::shared_ptr<Presence>> Presence::make(boost::asio::io_context& context, CmId anchor,
                                                 const VerbsOptions& options, Log log) {
  auto events = EventChannel::make(context);
  if (!events) return events.error();
  auto device = std::make_shared<Device>(to_endpoint(*rdma_get_local_addr(anchor.get()), 0), options, log);
  auto self = std::make_shared<Presence>(context, std::move(*events), std::make_shared<CompletionChannel>(context),
                                         std::move(device), std::move(log));
  if (const error_code failed = self->attach(std::move(anchor))) return failed;
  return self;
}

Presence::Presence(boost::asio::io_context& context, std::shared_ptr<EventChannel> events,
                   std::shared_ptr<CompletionChannel> completions, std::shared_ptr<Device> device, Log log)
    : context_(context),
      events_(std::move(events)),
      completions_(std::move(completions)),
      device_(std::move(device)),
      async_events_(std::make_shared<AsyncEvents>(
          context, [this](ContextUse::Loss loss) { lose(loss); }, log)),
      log_(std::move(log)),
      timer_(context),
      doubt_timer_(context) {}

Presence::~Presence() {
  async_events_->detach();
  completions_->detach();  // a cancelled wait would keep the channel longer than the device
  if (device_->attached()) {
    device_->use().leave(this);
    device_->set_handler(nullptr);
  }
}

error_code Presence::attach(CmId anchor) {
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
      // Unless it has been found out here meanwhile, and the device is back.
      if (alive && alive->device_->attached() && alive->device_->use().lost()) alive->lose(ContextUse::Loss::heard);
    });
  });
  if (!device_->use().lost()) return {};
  // Others have not let go of it yet, and nobody would tell us again.
  let_go();
  return FabricError::device_lost;
}

error_code Presence::ensure() {
  if (losing_) return FabricError::device_lost;
  if (device_->attached() && events_->idle()) look();
  // Another thread may have found out, whose word is on its way.
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

// Once for each reason: it may last, and is looked at again and again.
void Presence::log_refused(error_code why) {
  if (why == FabricError::device_lost || why == refused_) return;
  refused_ = why;
  std::string reason = why.message();
  if (why == FabricError::unsupported) reason = "it is not like the one that was there before";
  if (why == boost::system::errc::not_enough_memory) reason += ", or the limit of locked memory (ulimit -l)";
  log_.warn("verbs: the device at {} is there, but cannot be used yet: {}", device_->address().address().to_string(),
            reason);
}

// Nobody waits for the device's events while there is nothing but the anchor. They may come a little later than binding
// fails, so that is no proof. Another device may have taken the address: this one may live, and is left to others.
// False if it may be on its way out, for all that can be seen.
bool Presence::look() {
  events_->look();
  async_events_->look();
  if (!device_->attached()) return true;
  const auto found = find_device_at(device_->address().address());
  if (found && (*found)->verbs != device_->context()) {
    end_queue_pairs();  // they have ended, but each has an id as long as the user has it
    let_go();
  }
  return found.has_value();
}

error_code Presence::refused(error_code why) {
  // ENXIO: the id was bound, and has gone with the device.
  if (why != system_error(ENODEV) && why != system_error(ENXIO) && why != FabricError::device_lost) return why;
  if (!in_doubt_) {
    doubt_pause_ = kFirstDoubt;
    look_later();
  }
  return FabricError::device_lost;
}

void Presence::look_later() {
  in_doubt_ = true;
  doubt_timer_.expires_after(doubt_pause_);
  doubt_timer_.async_wait([self = weak_from_this()](boost::system::error_code cancelled) {
    const auto alive = self.lock();
    if (cancelled || !alive) return;
    alive->in_doubt_ = false;
    if (!alive->device_->attached()) return;
    // Who is interested in the events gets them, unless the interest ends before they come.
    if (alive->events_->idle() && alive->look()) return;
    alive->doubt_pause_ *= 2;
    if (alive->doubt_pause_ <= kLastDoubt) alive->look_later();
  });
}

void Presence::on_cm_event(CmEvent event) noexcept {
  if (event.type == RDMA_CM_EVENT_DEVICE_REMOVAL) lose(ContextUse::Loss::removal);
}

void Presence::lose(ContextUse::Loss loss) {
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

void Presence::let_go() {
  doubt_timer_.cancel();
  in_doubt_ = false;
  async_events_->detach();
  completions_->detach();
  device_->use().leave(this);
  Aside::wait_for(device_.get());  // what is left of handshakes, which have been cut short
  device_->detach();
}

// Once for a server, whose other threads have fabrics without listeners.
void Presence::log_lost() {
  const std::string address = device_->address().address().to_string();
  if (listeners_.empty())
    log_.debug("verbs: {} at {} is gone", device_->name(), address);
  else
    log_.error("verbs: {} at {} is gone: its connections end; listening again when it is back", device_->name(),
               address);
}

void Presence::end_queue_pairs() {
  std::vector<std::shared_ptr<VerbsQueuePair*>> all;
  all.reserve(queue_pairs_.size());
  for (const VerbsQueuePair* queue_pair : queue_pairs_) all.push_back(queue_pair->self());
  for (const auto& queue_pair : all)
    if (*queue_pair != nullptr) (*queue_pair)->on_device_lost();
}

void Presence::listen_later() {
  timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kLastPause);
  timer_.async_wait([self = weak_from_this()](boost::system::error_code cancelled) {
    const auto alive = self.lock();
    if (!cancelled && alive) alive->listen_again();
  });
}

void Presence::listen_again() {
  if (listeners_.empty()) return;  // the last one went when the timer had run out already
  bool all = !ensure();
  if (all)
    for (VerbsListener* listener : listeners_) all = !listener->resume() && all;  // each has its own reasons
  if (!all) listen_later();
}

void Presence::remove(VerbsListener& listener) noexcept {
  std::erase(listeners_, &listener);
  if (listeners_.empty()) timer_.cancel();
}

}  // namespace rpcrdma::fabric::verbs
