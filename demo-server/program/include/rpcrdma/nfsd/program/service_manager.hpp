// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Reports the state of the process to the service manager that started it, by the protocol of sd_notify(3): one
// datagram for each report, to the socket that NOTIFY_SOCKET names.
#include <chrono>
#include <optional>
#include <string_view>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// Does nothing without a service manager. Any thread may call its functions. If the service manager's queue is
/// full, ready() waits; any other message is lost.
class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceManager();

  /// Reports that the server serves, after its start or a reload; `status` is one line for the operator.
  void ready(std::string_view status) const;
  /// Reports that the configuration is being read again; ready() must follow.
  void reloading() const;
  void stopping() const;
  /// Call it every watchdog_interval(): the service manager kills a process that is silent for twice this time.
  void alive() const;
  /// Half of the interval that the service manager requires; nothing if it does not watch this process.
  std::optional<std::chrono::microseconds> watchdog_interval() const noexcept { return interval_; }

 private:
  void send(std::string_view message, int flags) const;

  Fd socket_;  ///< connected to the service manager, if there is one
  std::optional<std::chrono::microseconds> interval_;
};

}  // namespace rpcrdma::nfsd
