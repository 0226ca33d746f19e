// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "usage.hpp"

namespace rpcrdma::bench {

/// Values that a server publishes to its parent, in memory that both share.
struct Board {
  tally::Counts counts;
  fabric::Counters fabric;          ///< the counters of the server's fabric at the last publication
  std::uint64_t receive_bytes = 0;  ///< bytes of memory registered for receives at the last publication
  std::uint32_t connections = 0;    ///< the number of open connections at the last publication
  /// The port at which the server reports its statistics by HTTP. A server with statistics sets it before it calls
  /// Child::Ready. 0 for other servers.
  std::uint16_t statistics_port = 0;
};

/// A server in a process of its own, forked before this process has threads. The destructor kills it; so does the
/// kernel if this process dies.
class Child {
 public:
  using Ready = std::function<void(std::uint16_t port)>;

  /// `serve` runs in the child; it calls `ready(port)` when it listens and then serves until it is killed.
  explicit Child(const std::function<void(Board& board, const Ready& ready)>& serve);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  const Board& board() const noexcept { return *board_; }
  /// Returns the totals of the child and of this process. `fabric` contains the counters of this process's fabric.
  Usage usage(const fabric::Counters& fabric = {}) const;
  /// As usage(), for a child that has executed another program: of that program, only the processor time is known.
  Usage usage_of_program() const;
  /// Bytes of the child's resident memory, without mapped files and shared memory.
  std::uint64_t resident() const;

 private:
  Board* board_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace rpcrdma::bench
