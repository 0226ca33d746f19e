// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <csignal>

namespace rpcrdma::nfsd {

/// Blocks SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 in this thread and in the threads that it creates from now on.
/// Returns the previous mask.
inline sigset_t block_external_signals() noexcept {
  sigset_t outside;
  sigset_t before;
  ::sigemptyset(&outside);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaddset(&outside, number);
  ::pthread_sigmask(SIG_BLOCK, &outside, &before);
  return before;
}

/// Blocks the signals of block_external_signals() in the current thread while this object exists. Threads that the
/// current thread creates meanwhile inherit the signal mask, and keep these signals blocked when this object is
/// destroyed. Use this class to create threads that may hang in a system call. The kernel delivers a signal of the
/// process to one thread that does not block it. If this thread hangs, the signal is not handled until the system call
/// returns. If a new thread blocked the signals itself, it could receive one before it does so.
class ExternalSignalsBlocked {
 public:
  ExternalSignalsBlocked() noexcept = default;
  ~ExternalSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ExternalSignalsBlocked(const ExternalSignalsBlocked&) = delete;
  ExternalSignalsBlocked& operator=(const ExternalSignalsBlocked&) = delete;

 private:
  sigset_t before_ = block_external_signals();
};

}  // namespace rpcrdma::nfsd
