// SPDX-License-Identifier: BSD-3-Clause
// Operation. InfiniBand says nothing on an idle connection: a peer whose host has gone would hold it for ever. When
// nothing has completed here for the keepalive time, the peer's device is sent an RDMA Write of nothing. Its program
// sees none of it: the device acknowledges it, or the connection fails.
// The same wakes a siw that has left our first message unread, as it may do with one that follows its set-up closely,
// until more comes: on iWARP a connector sends some until it has heard something, ever more rarely.
// Error handling. A probe that is not acknowledged completes with an error as any other work does.
#include "queue_pair.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr unsigned kQuarters = 4;

constexpr std::chrono::milliseconds kFirstNudge{20};
constexpr unsigned kNudges = 10;  // the last of them after 20 s

}  // namespace

void VerbsQueuePair::watch_peer() {
  keepalive_timer_.expires_after(std::chrono::milliseconds(parts_.options.keepalive) / kQuarters);
  keepalive_timer_.async_wait([self = self_](boost::system::error_code error) {
    if (!error && *self != nullptr) (*self)->on_quiet_quarter();
  });
}

void VerbsQueuePair::on_quiet_quarter() {
  if (state_ != State::established || ending_) return;
  watch_peer();
  if (++quiet_quarters_ < kQuarters || sends_.probing()) return;
  quiet_quarters_ = 0;
  sends_.append_probe();
  submit();
}

void VerbsQueuePair::nudge_later() {
  nudge_timer_.expires_after(kFirstNudge * (1u << nudges_));
  nudge_timer_.async_wait([self = self_](boost::system::error_code error) {
    if (!error && *self != nullptr) (*self)->on_nothing_heard_yet();
  });
}

void VerbsQueuePair::on_nothing_heard_yet() {
  if (state_ != State::established || ending_ || receives_.any_taken()) return;
  if (++nudges_ < kNudges) nudge_later();
  if (sends_.probing()) return;
  sends_.append_probe();
  submit();
}

}  // namespace rpcrdma::fabric::verbs
