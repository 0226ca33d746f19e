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

/// While this object exists, its thread blocks the signals of block_external_signals(); threads that this thread
/// creates meanwhile block them for as long as they live. Use it to create threads that may hang in a system call: the
/// kernel delivers a signal to one thread, and a signal to a thread that hangs would wait. If the new thread blocked
/// them itself, it could receive a signal before.
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
