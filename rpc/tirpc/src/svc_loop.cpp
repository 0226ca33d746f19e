// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "rpcrdma/tirpc.h"

namespace rpcrdma::tirpc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kLongest(50);

/// As poll() without a time limit, but polls for a while before it blocks if that has spared a wake-up lately.
class Poller {
 public:
  int wait(std::vector<pollfd>& descriptors) {
    const Clock::time_point start = Clock::now();
    int ready = 0;
    if (spin_) {
      do {
        ready = ::poll(descriptors.data(), descriptors.size(), 0);
        if (ready == 0) std::this_thread::yield();
      } while (ready == 0 && Clock::now() - start < kLongest);
    }
    if (ready != 0) return ready;
    ready = ::poll(descriptors.data(), descriptors.size(), -1);
    spin_ = Clock::now() - start < 2 * kLongest;
    return ready;
  }

 private:
  bool spin_ = false;
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
