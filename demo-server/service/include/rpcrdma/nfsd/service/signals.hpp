// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <csignal>

namespace rpcrdma::nfsd {

/// Blocks external signals in this thread. Use it in threads that may hang in a system call: the kernel delivers a
/// signal to one thread, and a signal to a thread that hangs would wait.
inline void block_external_signals() noexcept {
  sigset_t outside;
  ::sigemptyset(&outside);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaddset(&outside, number);
  ::pthread_sigmask(SIG_BLOCK, &outside, nullptr);
}

}  // namespace rpcrdma::nfsd
