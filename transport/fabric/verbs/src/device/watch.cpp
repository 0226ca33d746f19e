// SPDX-License-Identifier: BSD-3-Clause
// Operation. One wait is pending at a time. After each wait, drain() of the derived class runs, and the next wait
// starts. drain() may leave events unread, because the next wait then ends at once.
// Ownership. The wait's handler holds the watch, which thus outlives any drain() in progress.
// Error handling. The wait fails only when cancelled, by release().
#include "device/watch.hpp"

#include <fcntl.h>

namespace rpcrdma::fabric::verbs {

void Watch::assign(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  descriptor_.assign(descriptor);
  wait();
}

void Watch::release() noexcept {
  if (descriptor_.is_open()) descriptor_.release();
}

void Watch::wait() {
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                         [self = shared_from_this()](boost::system::error_code cancelled) {
                           if (cancelled || !self->descriptor_.is_open()) return;
                           self->drain();
                           if (self->descriptor_.is_open()) self->wait();
                         });
}

}  // namespace rpcrdma::fabric::verbs
