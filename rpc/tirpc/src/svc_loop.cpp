// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "rpcrdma/base/wait_policy.hpp"
#include "rpcrdma/tirpc.h"
#include "service.hpp"

namespace rpcrdma::tirpc {
namespace {

/// As poll() without a time limit, but first polls without blocking, for the time that policy_ allows.
class Poller {
 public:
  int wait(std::vector<pollfd>& descriptors) {
    const WaitPolicy::TimePoint start = WaitPolicy::Clock::now();
    const WaitPolicy::Duration window = policy_.window(start);
    WaitPolicy::TimePoint now = start;
    while (now - start < window) {
      const int ready = ::poll(descriptors.data(), descriptors.size(), 0);
      if (ready != 0) {
        policy_.found();
        return ready;
      }
      std::this_thread::yield();
      const WaitPolicy::TimePoint back = WaitPolicy::Clock::now();
      if (back - now >= WaitPolicy::kDisplaced) {
        policy_.displaced(back, back - now);
        return ::poll(descriptors.data(), descriptors.size(), -1);
      }
      now = back;
    }
    if (now != start) policy_.missed(now - start);
    return ::poll(descriptors.data(), descriptors.size(), -1);
  }

 private:
  WaitPolicy policy_{Service::polling_of_loop(), std::chrono::microseconds(50), WaitPolicy::Clock::now()};
};

}  // namespace
}  // namespace rpcrdma::tirpc

void rpcrdma_svc_run() {
  rpcrdma::tirpc::Poller poller;
  std::vector<pollfd> descriptors;
  // svc_exit() sets the list to null.
  while (svc_pollfd != nullptr) {
    descriptors.assign(svc_pollfd, svc_pollfd + svc_max_pollfd);
    for (pollfd& one : descriptors) one.revents = 0;
    const int ready = poller.wait(descriptors);
    if (ready > 0) svc_getreq_poll(descriptors.data(), ready);
    if (ready < 0 && errno != EINTR) return;
  }
}
