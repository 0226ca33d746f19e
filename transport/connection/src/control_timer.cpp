// SPDX-License-Identifier: BSD-3-Clause
// Operation. One timer runs until the earliest deadline of all requests: those that wait, and the one in transit, which
// may be an empty REQ_XCHAR. An answer does not change the timer, since answers are fast and requests are rare.
// Errors. A request past its deadline ends with deadline_exceeded. Its XID stays in use until the late answer arrives,
// or until the peer is known to have received the request: then the peer has a Receive for the next message.
#include <limits>

#include "control.hpp"

namespace rpcrdma::transport {

void Control::arm(std::chrono::steady_clock::time_point deadline) {
  if (deadline >= armed_for_ || lost_) return;
  armed_for_ = deadline;
  deadline_.expires_at(deadline);
  deadline_.async_wait(connection_.guard_.wrap([](Connection& connection, error_code cancelled) {
    if (!cancelled) connection.control_->on_deadline();
  }));
}

void Control::on_deadline() {
  armed_for_ = std::chrono::steady_clock::time_point::max();
  if (lost_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool waits = request_xid_ && !overdue_;
  if (waits && (fence_ ? fence_deadline_ : requests_.front().deadline) <= now) {
    connection_.log().debug("REQ_XCHAR timed out: the peer did not answer it within the time limit of {} ms",
                            options_.request_timeout.count());
    overdue_ = true;
    ++counted_.unanswered;
    to_replace_ = 0;
    if (!fence_) doubt();
  }
  // requests_ is in the order of the deadlines. If a request in requests_ has been sent and awaits its answer, it is
  // the first one. The loop thus also ends this request when its deadline has passed.
  while (!requests_.empty() && requests_.front().deadline <= now) end_request(BaseError::deadline_exceeded, {});
  if (!requests_.empty()) arm(requests_.front().deadline);
  if (request_xid_ && fence_ && !overdue_) arm(fence_deadline_);
  pump();
}

/// Counts the messages of the forward direction that arrive while a request is in transit: calls on a server, replies
/// on a client. The peer can send at most as many of them as there are credits before it receives a message that
/// follows the request. One message more therefore shows that the peer has received the request. If the request is
/// overdue, this side then treats it as answered.
void Control::note_progress(const wire::Header& header) {
  const auto forward = connection_.role() == Role::server ? wire::Direction::call : wire::Direction::reply;
  const bool rpc = header.procedure == wire::Procedure::msg || header.procedure == wire::Procedure::nomsg;
  if (rpc && header.direction == forward && progress_ < std::numeric_limits<std::uint32_t>::max()) ++progress_;
  if (!overdue_ || progress_ <= connection_.options().credits) return;
  answered();
  pump();
}

}  // namespace rpcrdma::transport
