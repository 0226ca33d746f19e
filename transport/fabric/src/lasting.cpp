// SPDX-License-Identifier: BSD-3-Clause
// Operation. Calls are forwarded to the present fabric. When that fabric ends, it is destroyed; a timer, or a call that
// needs a fabric, opens the next one.
// Ownership. Regions, listeners and queue pairs belong to the user. Regions and listeners are in a list while they
// exist. A queue pair ends with the fabric that made it.
// Errors. While there is a device, errors come from the present fabric. If attempts to open the device fail for the
// same reason again and again, the reason is logged once; an attempt that finds no device logs nothing.
#include "rpcrdma/fabric/lasting.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include "rpcrdma/base/backoff.hpp"
#include "rpcrdma/base/random_number.hpp"
#include "rpcrdma/base/weak_guard.hpp"

namespace rpcrdma::fabric {
namespace {

using Hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
template <class T>
using ListOf = boost::intrusive::list<T, boost::intrusive::constant_time_size<false>>;

class LastingRegion final : public MemoryRegion, public Hook {
 public:
  explicit LastingRegion(std::span<std::byte> memory) : memory_(memory) { end(); }
  BufferRef buffer() const noexcept override { return buffer_; }

  error_code begin(Fabric& fabric) {
    auto region = fabric.register_memory(memory_);
    if (!region) return region.error();
    region_ = std::move(*region);
    buffer_ = region_->buffer();
    return {};
  }
  void end() noexcept {
    region_.reset();
    buffer_ = {memory_.data(), static_cast<std::uint32_t>(memory_.size()), 0};
  }

 private:
  std::span<std::byte> memory_;
  std::unique_ptr<MemoryRegion> region_;
  BufferRef buffer_;
};

class LastingListener final : public Listener, public Hook {
 public:
  LastingListener(const Endpoint& local, Fabric::RequestHandler handler)
      : local_(local), handler_(std::make_shared<Fabric::RequestHandler>(std::move(handler))) {}
  Endpoint local() const override { return local_; }

  error_code begin(Fabric& fabric) {
    if (listener_ != nullptr) return {};
    auto listener = fabric.listen(local_, [handler = handler_](std::unique_ptr<ConnectionRequest> request) {
      const auto keep = handler;  // the handler may destroy the listener
      (*keep)(std::move(request));
    });
    if (!listener) return listener.error();
    listener_ = std::move(*listener);
    local_ = listener_->local();
    return {};
  }
  bool listens() const noexcept { return listener_ != nullptr; }
  void end() noexcept { listener_.reset(); }

  error_code refused;  ///< why the last attempt to listen again failed

 private:
  // The endpoint to listen at. If the caller gave port 0, begin() stores the port that the first fabric has chosen, so
  // that later fabrics listen at the same port.
  Endpoint local_;
  std::shared_ptr<Fabric::RequestHandler> handler_;
  std::unique_ptr<Listener> listener_;
};

/// Whether two fabrics have the same capabilities, apart from the limit of locked memory.
bool is_alike(Capabilities one, const Capabilities& other) {
  one.lockable_memory = other.lockable_memory;
  return one == other;
}

class LastingFabric final : public Fabric {
 public:
  LastingFabric(std::unique_ptr<Fabric> first, UniqueFunction<Result<std::unique_ptr<Fabric>>()> open,
                LastingOptions options, Log log)
      : context_(first->context()),
        capabilities_(first->capabilities()),
        fabric_(std::move(first)),
        open_(std::move(open)),
        name_(std::move(options.name)),
        log_(std::move(log)),
        backoff_(options.first_pause, options.last_pause, random_number()),
        timer_(context_) {
    watch();
  }

  boost::asio::io_context& context() noexcept override { return context_; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Counters& counters() const noexcept override {
    if (past_.reopened == 0 && fabric_ != nullptr) return fabric_->counters();
    sum_ = past_;
    if (fabric_ != nullptr) sum_ += fabric_->counters();
    return sum_;
  }
  void on_end(UniqueFunction<void(error_code)> /*handler*/) override {}

  Result<std::unique_ptr<MemoryRegion>> register_memory(std::span<std::byte> memory) override {
    if (memory.empty() || memory.size() > std::numeric_limits<std::uint32_t>::max())
      return make_error_code(BaseError::invalid_argument);
    auto region = std::make_unique<LastingRegion>(memory);
    if (fabric_ != nullptr)
      if (const error_code failed = region->begin(*fabric_); failed && failed != FabricError::device_lost)
        return failed;
    regions_.push_back(*region);
    return region;
  }
  Result<std::unique_ptr<QueuePair>> make_connector(const Endpoint& peer, QueuePairOptions options,
                                                    QueuePairEvents& events) override {
    if (const error_code lost = ready()) return lost;
    return fabric_->make_connector(peer, std::move(options), events);
  }
  /// Does nothing while there is no fabric: `queue_pair` has ended with the fabric that made it.
  void start(QueuePair& queue_pair) override {
    if (fabric_ != nullptr) fabric_->start(queue_pair);
  }
  Result<std::unique_ptr<Listener>> listen(const Endpoint& local, RequestHandler handler) override {
    if (const error_code lost = ready()) return lost;
    auto listener = std::make_unique<LastingListener>(local, std::move(handler));
    if (const error_code failed = listener->begin(*fabric_)) return failed;
    listeners_.push_back(*listener);
    return listener;
  }
  Result<std::unique_ptr<QueuePair>> make_acceptor(std::unique_ptr<ConnectionRequest> request, QueuePairOptions options,
                                                   QueuePairEvents& events) override {
    if (const error_code lost = ready()) return lost;
    return fabric_->make_acceptor(std::move(request), std::move(options), events);
  }
  void reject(std::unique_ptr<ConnectionRequest> request, Octets private_data) override {
    if (fabric_ != nullptr) fabric_->reject(std::move(request), private_data);
  }

 private:
  error_code ready() { return fabric_ != nullptr || reopen() ? error_code() : error_code(FabricError::device_lost); }
  void watch() {
    fabric_->on_end(guard_.wrap([](LastingFabric& self, error_code why) { self.on_lost(why); }));
  }
  void on_lost(error_code why);
  void drop();
  bool reopen();
  void refuse(error_code why);
  void wait();
  void try_again();
  bool listen_again(LastingListener& listener);

  boost::asio::io_context& context_;
  const Capabilities capabilities_;
  std::unique_ptr<Fabric> fabric_;  // null while there is no device
  UniqueFunction<Result<std::unique_ptr<Fabric>>()> open_;
  std::string name_;
  Log log_;
  ListOf<LastingRegion> regions_;
  ListOf<LastingListener> listeners_;
  Backoff backoff_;
  boost::asio::steady_timer timer_;
  // The failure that refuse() has logged most recently. refuse() does not log the same failure again. A successful
  // opening of the device resets it.
  error_code refused_;
  Counters past_;
  mutable Counters sum_;
  WeakGuard<LastingFabric> guard_{*this};
};

// Logs the loss of the device as an error only if this fabric has listeners. A server has a fabric on each thread, but
// only the fabric of the first thread has listeners, so the server logs one error for a device.
void LastingFabric::on_lost(error_code why) {
  if (listeners_.empty())
    log_.debug("{}: {} is gone: {}", capabilities_.name, name_, why.message());
  else
    log_.error("{}: {} is gone: its connections end; listening again when it is back", capabilities_.name, name_);
  past_ += fabric_->counters();
  drop();
  backoff_.reset();
  wait();
}

void LastingFabric::drop() {
  for (LastingListener& listener : listeners_) listener.end();
  for (LastingRegion& region : regions_) region.end();
  fabric_.reset();
}

bool LastingFabric::reopen() {
  auto opened = open_();
  if (!opened) {
    refuse(opened.error());
    return false;
  }
  fabric_ = std::move(*opened);
  error_code failed;
  if (!is_alike(fabric_->capabilities(), capabilities_)) failed = FabricError::unsupported;
  for (auto region = regions_.begin(); !failed && region != regions_.end(); ++region) failed = region->begin(*fabric_);
  if (failed) {
    drop();
    refuse(failed);
    return false;
  }
  log_.debug("{}: {} is back", capabilities_.name, name_);
  refused_ = {};
  ++past_.reopened;
  watch();
  return true;
}

void LastingFabric::refuse(error_code why) {
  if (why == FabricError::no_device || why == FabricError::device_lost || why == refused_) return;
  refused_ = why;
  log_.warn("{}: {} cannot be opened again yet: {}", capabilities_.name, name_,
            why == FabricError::unsupported ? "the device that came back differs from the one that was removed"
                                            : why.message());
}

void LastingFabric::wait() {
  timer_.expires_after(backoff_.next());
  timer_.async_wait(guard_.wrap([](LastingFabric& self, error_code cancelled) {
    if (!cancelled) self.try_again();
  }));
}

void LastingFabric::try_again() {
  bool done = fabric_ != nullptr || reopen();
  if (done)
    for (LastingListener& listener : listeners_) done = listen_again(listener) && done;
  if (!done) wait();
}

bool LastingFabric::listen_again(LastingListener& listener) {
  if (listener.listens()) return true;
  const error_code failed = listener.begin(*fabric_);
  const std::string address = listener.local().address().to_string();
  const unsigned port = listener.local().port();
  if (!failed)
    log_.info("{}: the device is back: listening again at {} port {}", capabilities_.name, address, port);
  else if (failed != listener.refused)
    log_.warn("{}: the device is back, but cannot listen at {} port {} yet: {}", capabilities_.name, address, port,
              failed.message());
  else
    log_.debug("{}: still cannot listen at {} port {}: {}", capabilities_.name, address, port, failed.message());
  listener.refused = failed;
  return !failed;
}

}  // namespace

std::unique_ptr<Fabric> make_lasting(std::unique_ptr<Fabric> first,
                                     UniqueFunction<Result<std::unique_ptr<Fabric>>()> open, LastingOptions options,
                                     Log log) {
  return std::make_unique<LastingFabric>(std::move(first), std::move(open), std::move(options), std::move(log));
}

}  // namespace rpcrdma::fabric
