// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "options.hpp"
#include "rpcrdma/base/runner.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"

namespace rpcrdma::ipoib {

/// The program rpcrdma-ip. Makes the TUN device, the fabric and the link, runs the event loop, and handles signals.
/// Used on one thread.
class Program {
 public:
  Program(Options options, Log log);

  /// Makes the device, gives up all privileges, and listens. Returns nothing on success, else one line with the
  /// failure.
  std::optional<std::string> start();
  std::string ready_line() const;
  /// Runs until SIGTERM, SIGINT or a permanent failure of the TUN device; returns the exit status.
  int run();

 private:
  std::optional<std::string> open_fabric();
  std::optional<std::string> make_device();
  void await_signal();
  void shut_down(int status);
  void report() const;

  const Options options_;
  const Log log_;
  boost::asio::io_context context_{1};
  Runner runner_{context_, options_.poll};
  boost::asio::signal_set signals_{context_};
  boost::asio::steady_timer grace_{context_};
  // Owns the capture, if there is one, and closes it when it is destroyed. It precedes fabric_, so that the fabric is
  // destroyed before the capture is closed.
  std::optional<capture::ToggleBySignal> toggled_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<Tun> device_;
  std::unique_ptr<Link> link_;
  std::uint16_t port_ = 0;
  bool ending_ = false;
  int status_ = 0;
};

}  // namespace rpcrdma::ipoib
