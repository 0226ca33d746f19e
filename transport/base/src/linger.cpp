// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/linger.hpp"

#include <algorithm>

#include "rpcrdma/base/runner.hpp"

namespace rpcrdma {
namespace {

/// The maximum number of waits in one handler, and the longest time that they may take together.
constexpr unsigned kWaits = 16;
constexpr Runner::Clock::duration kLongest = std::chrono::microseconds(400);
/// A connection counts as the only active one when this many handlers in a row, before the present one, were its own.
constexpr unsigned kAlone = 16;
/// The maximum number of consecutive handlers that skip the wait after a wait that found nothing.
constexpr unsigned kLongestRest = 1023;

}  // namespace

/// The state that the connections of an io_context share.
class Linger::Service : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit Service(boost::asio::execution_context& context) : service(context) {}

  Runner* runner = nullptr;
  const Linger* last = nullptr;  // the connection whose handler ran last; compared, never dereferenced
  unsigned in_a_row = 0;

 private:
  void shutdown() override {}
};

boost::asio::execution_context::id Linger::Service::id;

Linger::Linger(boost::asio::io_context& context) : service_(boost::asio::use_service<Service>(context)) {}

void Linger::attach(boost::asio::io_context& context, Runner& runner) {
  boost::asio::use_service<Service>(context).runner = &runner;
}

void Linger::detach(boost::asio::io_context& context, const Runner& runner) noexcept {
  auto& service = boost::asio::use_service<Service>(context);
  if (service.runner == &runner) service.runner = nullptr;
}

void Linger::begin() noexcept {
  service_.in_a_row = service_.last == this ? service_.in_a_row + 1 : 0;
  service_.last = this;
  left_ = 0;
  if (service_.runner == nullptr || service_.in_a_row < kAlone) return;
  if (skip_ > 0) {
    --skip_;
  } else {
    left_ = kWaits;
    time_ = kLongest;
  }
}

bool Linger::allowed() noexcept {
  if (left_ == 0 || time_ < Runner::kLongestLinger || service_.runner == nullptr || service_.runner->hastened_)
    return false;
  --left_;
  return true;
}

bool Linger::spin(bool (*poll)(void*), void* object) { return service_.runner->linger(poll, object, time_); }

bool Linger::settle(bool found) noexcept {
  if (!found) left_ = 0;
  rest_ = found ? rest_ / 2 : std::min(2 * rest_ + 1, kLongestRest);
  skip_ = found ? 0 : rest_;
  return found;
}

}  // namespace rpcrdma
