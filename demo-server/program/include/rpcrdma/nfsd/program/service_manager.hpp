// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Reports the state of the process to the service manager that started it: the protocol of sd_notify(3), which is one
// datagram for each change to the socket that NOTIFY_SOCKET names.
#include <chrono>
#include <optional>
#include <string_view>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// Does nothing where no service manager asks. Any thread may call it. ready() waits while the queue of the
/// service manager is full; any other message is lost then.
class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceManager();

  /// The server serves, after its start or a reload; `status` is one line for the operator.
  void ready(std::string_view status) const;
  /// The configuration is being read again; ready() ends it.
  void reloading() const;
  void stopping() const;
  /// To be repeated at least every watchdog_interval(): otherwise the service manager kills the process.
  void alive() const;
  /// Half of what the service manager permits. Nothing: it does not watch this process.
  std::optional<std::chrono::microseconds> watchdog_interval() const noexcept { return interval_; }

 private:
  void send(std::string_view message, int flags) const;

  Fd socket_;  ///< connected to the service manager; none if there is none
  std::optional<std::chrono::microseconds> interval_;
};

}  // namespace rpcrdma::nfsd
