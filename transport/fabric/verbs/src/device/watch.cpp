// SPDX-License-Identifier: BSD-3-Clause
// Operation. One wait at a time; after each the derived class drains, and the next wait starts if there is still an
// Interest. Asio reports a readable descriptor at once, so drain() may stop early.
// Ownership. The wait's handler holds the watch, which thus outlives any drain() in progress.
// Error handling. The wait fails only when cancelled; whether there is an Interest and a descriptor decides what is
// next.
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

void Watch::enter() {
  ++interested_;
  wait();
}

void Watch::leave() noexcept {
  if (--interested_ != 0) return;
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

void Watch::wait() {
  if (waiting_ || interested_ == 0 || !descriptor_.is_open()) return;
  waiting_ = true;
  descriptor_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                         [self = shared_from_this()](boost::system::error_code) {
                           self->waiting_ = false;
                           if (self->interested_ != 0 && self->descriptor_.is_open()) self->drain();
                           self->wait();
                         });
}

}  // namespace rpcrdma::fabric::verbs
