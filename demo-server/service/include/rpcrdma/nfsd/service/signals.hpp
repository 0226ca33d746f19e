// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <csignal>

namespace rpcrdma::nfsd {

/// From now on this thread gets no signal from outside. For threads that may hang in a system call: the kernel gives a
/// signal to one thread, and if that one cannot take it, it waits with it.
inline void leave_signals_to_others() noexcept {
  sigset_t outside;
  ::sigemptyset(&outside);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaddset(&outside, number);
  ::pthread_sigmask(SIG_BLOCK, &outside, nullptr);
}

}  // namespace rpcrdma::nfsd
