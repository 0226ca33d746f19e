// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Reports the state of the process to the service manager that started it, by the protocol of sd_notify(3): one
// datagram for each report, to the socket that NOTIFY_SOCKET names.
#include <chrono>
#include <optional>
#include <string_view>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {

/// Sends the reports. If no service manager started the process, the functions do nothing. Any thread may call them. If
/// the queue of the service manager's socket is full, ready() blocks until it has room, and the other functions drop
/// their report.
class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  ServiceManager();

  /// Reports that the server is ready to serve. To be called when the start of the server is complete, and when a
  /// reload is over. `status` is a line that the service manager shows to the operator.
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

  /// The socket that is connected to NOTIFY_SOCKET. Empty if this variable is not set or the connection failed: send()
  /// then does nothing.
  Fd socket_;
  std::optional<std::chrono::microseconds> interval_;
};

}  // namespace rpcrdma::nfsd
