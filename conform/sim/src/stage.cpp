// SPDX-License-Identifier: BSD-3-Clause
#include "stage.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace rpcrdma::sim {

void Drain::round(int left) {
  boost::asio::post(context_, [this, left] {
    if (left == 0)
      over_ = true;
    else
      round(left - 1);
  });
}

boost::asio::awaitable<void> Waits::wait(std::chrono::milliseconds time) {
  if (ended_ || time.count() == 0) co_return;
  boost::asio::steady_timer timer(context_, time);
  const auto at = waiting_.insert(waiting_.end(), &timer);
  co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  waiting_.erase(at);
}

void Waits::end() noexcept {
  ended_ = true;
  for (boost::asio::steady_timer* timer : waiting_) timer->cancel();
}

}  // namespace rpcrdma::sim
