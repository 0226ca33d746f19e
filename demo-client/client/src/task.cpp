// SPDX-License-Identifier: BSD-3-Clause
// Operation: a Signal is a timer that never expires; notifying cancels its waits. A Group counts its children and
// signals when the last one ends. Permits are a counter and a Signal.
// Ownership: children belong to the executor and may refer to objects of the awaiting parent.
// Error handling: Group::wait() rethrows the first exception that a child threw. The other waits cannot fail.
#include "rpcrdma/nfs/task.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rpcrdma::nfs {

namespace asio = boost::asio;

Signal::Signal(const asio::any_io_executor& executor) : timer_(executor, asio::steady_timer::time_point::max()) {}

asio::awaitable<void> Signal::wait() { co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable)); }

void Group::spawn(asio::awaitable<void> child) {
  ++running_;
  asio::co_spawn(executor_, std::move(child), [this](std::exception_ptr thrown) {
    if (thrown && !thrown_) thrown_ = thrown;
    if (--running_ == 0) ended_.notify_all();
  });
}

asio::awaitable<void> Group::wait() {
  while (running_ != 0) co_await ended_.wait();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

asio::awaitable<Permits::Permit> Permits::acquire() {
  while (free_ == 0) co_await freed_.wait();
  --free_;
  co_return Permit(this);
}

Permits::Permit Permits::try_acquire() noexcept {
  if (free_ == 0) return {};
  --free_;
  return Permit(this);
}

void Permits::release() {
  ++free_;
  freed_.notify_one();
}

}  // namespace rpcrdma::nfs
