// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/embed/loop.hpp"

#include <pthread.h>

#include <csignal>

#include "rpcrdma/base/runner.hpp"

namespace rpcrdma::embed {

void Loop::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Runner(context_).run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Loop::join() noexcept {
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) return thread_.detach();
  thread_.join();
}

}  // namespace rpcrdma::embed
