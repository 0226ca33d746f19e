// SPDX-License-Identifier: BSD-3-Clause
#include "peer_watch.hpp"

namespace rpcrdma::fabric::verbs {
namespace {

constexpr unsigned kQuarters = 4;

constexpr std::chrono::milliseconds kFirstNudge{20};
constexpr unsigned kNudges = 10;  // the intervals double, so the last nudge is sent after 20 s

}  // namespace

void PeerWatch::start(bool nudge) {
  watching_ = true;
  wait_a_quarter();
  if (nudge) nudge_later();
}

void PeerWatch::stop() noexcept {
  watching_ = false;
  keepalive_timer_.cancel();
  nudge_timer_.cancel();
}

void PeerWatch::wait_a_quarter() {
  keepalive_timer_.expires_after(keepalive_ / kQuarters);
  keepalive_timer_.async_wait(self_.guard([](PeerWatch& self, boost::system::error_code cancelled) {
    if (!cancelled && self.watching_) self.on_quiet_quarter();
  }));
}

void PeerWatch::on_quiet_quarter() {
  wait_a_quarter();
  if (++quiet_quarters_ < kQuarters || owner_.probing_peer()) return;
  quiet_quarters_ = 0;
  owner_.probe_peer();
}

void PeerWatch::nudge_later() {
  nudge_timer_.expires_after(kFirstNudge * (1u << nudges_));
  nudge_timer_.async_wait(self_.guard([](PeerWatch& self, boost::system::error_code cancelled) {
    if (!cancelled && self.watching_) self.on_nothing_heard_yet();
  }));
}

void PeerWatch::on_nothing_heard_yet() {
  if (owner_.heard_from_peer()) return;
  if (++nudges_ < kNudges) nudge_later();
  if (!owner_.probing_peer()) owner_.probe_peer();
}

}  // namespace rpcrdma::fabric::verbs
