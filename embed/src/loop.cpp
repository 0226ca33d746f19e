// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/embed/loop.hpp"

#include <pthread.h>

#include <csignal>

namespace rpcrdma::embed {

Loop::~Loop() {
  join();
  if (thread_.joinable()) thread_.detach();
}

void Loop::start(std::shared_ptr<void> keep) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  serving_ = true;
  thread_ = std::thread([this, keep = std::move(keep)] {
    runner_.run();
    const std::lock_guard lock(mutex_);
    serving_ = false;
    if (stopped_) return;
    context_.restart();
    context_.poll();  // runs the functions that were posted after the end of run()
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Loop::join() noexcept {
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace rpcrdma::embed
