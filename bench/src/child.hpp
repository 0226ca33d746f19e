// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace rpcrdma::bench {

/// A server in a process of its own, forked before this process has threads. Ended by the destructor, and
/// by the kernel if this process dies.
class Child {
 public:
  /// `serve` runs in the child; it calls `ready(port)` when it listens and then serves until it is killed.
  explicit Child(const std::function<void(const std::function<void(std::uint16_t)>& ready)>& serve);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint16_t port() const noexcept { return port_; }

 private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace rpcrdma::bench
