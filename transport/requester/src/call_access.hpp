// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/intrusive/list.hpp>

#include "rpcrdma/requester/requester.hpp"

namespace rpcrdma::transport {

/// The requester's access to the private part of a Call.
struct CallAccess {
  using State = Call::State;
  using Queue =
      boost::intrusive::list<Call,
                             boost::intrusive::member_hook<Call, boost::intrusive::list_member_hook<>, &Call::queue_>>;
  static State& state(Call& call) noexcept { return call.state_; }
  static void*& slot(Call& call) noexcept { return call.slot_; }
  static error_code& failure(Call& call) noexcept { return call.failure_; }
  static std::chrono::steady_clock::time_point& submitted(Call& call) noexcept { return call.submitted_; }
  static bool& was_sent(Call& call) noexcept { return call.was_sent_; }
};

using CallQueue = CallAccess::Queue;

}  // namespace rpcrdma::transport
