// SPDX-License-Identifier: BSD-3-Clause
// Operation: a turn is one posted handler. It runs the actions of later(), then moves the frames of all queue pairs,
// in order of creation, and then runs their callbacks. Another turn is posted as long as a queue pair has frames to
// move or callbacks to run.
// Ownership: the handler holds the core weakly, so that no turn runs after all users of the core are gone.
// Error handling: a turn cannot fail.
#include "core.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "end.hpp"
#include "listener.hpp"

namespace rpcrdma::fabric::loopback {

void Core::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  boost::asio::post(context_, [weak = weak_from_this()] {
    if (const auto core = weak.lock()) core->run_turn();
  });
}

void Core::later(UniqueFunction<void()> action) {
  actions_.push_back(std::move(action));
  schedule();
}

std::uint64_t Core::enlist(const std::shared_ptr<End>& end) {
  ends_.push_back(end);
  return ++made_;
}

void Core::end_all(const FabricState& fabric) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const auto end = ends_[i].lock();
    if (end != nullptr && &end->fabric() == &fabric) end->lose_device();
  }
}

void Core::pause(LoopbackPause where) {
  pause_ = where;
  schedule();
}

void Core::run_turn() {
  scheduled_ = false;
  ++turn_;
  for (std::size_t i = actions_.size(); i > 0; --i) {
    UniqueFunction<void()> action = std::move(actions_.front());
    actions_.pop_front();
    action();
  }
  std::erase_if(ends_, [](const std::weak_ptr<End>& end) { return end.expired(); });
  // A callback below may make queue pairs, which enlist() appends to ends_. The loops stop at the old size of ends_, so
  // the new queue pairs take part from the next turn on.
  bool busy = false;
  const std::size_t count = ends_.size();
  for (std::size_t i = 0; i < count; ++i)
    if (const auto end = ends_[i].lock()) end->move_frames();
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = ends_[i].lock();
    if (end == nullptr) continue;
    end->dispatch();
    busy = busy || end->busy();
  }
  if (busy) schedule();
}

std::uint32_t Core::new_handle() noexcept {
  for (;;) {
    const auto handle = static_cast<std::uint32_t>(random_());
    if (!windows_.contains(handle)) return handle;
  }
}

std::uint64_t Core::new_offset() noexcept { return random_() >> 1; }

std::shared_ptr<ListenerState> Core::find_listener(const Endpoint& at) {
  for (const Endpoint& where : {at, Endpoint(boost::asio::ip::address_v4::any(), at.port()),
                                Endpoint(boost::asio::ip::address_v6::any(), at.port())}) {
    const auto found = listeners_.find(where);
    if (found == listeners_.end()) continue;
    if (auto listener = found->second.lock()) return listener;
  }
  return nullptr;
}

Result<Endpoint> Core::add_listener(Endpoint at, const std::shared_ptr<ListenerState>& listener) {
  if (at.port() == 0) at.port(next_port());
  const auto [where, added] = listeners_.emplace(at, listener);
  if (!added) return boost::system::errc::make_error_code(boost::system::errc::address_in_use);
  return at;
}

}  // namespace rpcrdma::fabric::loopback
