// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "command.hpp"
#include "rpcrdma/base/log_format.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"
#include "rpcrdma/fabric/open/open.hpp"

namespace rpcrdma::conform {

/// The capture that --capture asks for. While this object exists, SIGUSR2 stops and starts the capture.
class Captured {
 public:
  /// Opens the capture, if one is wanted, and sets `fabric.tap` to it. Throws UsageError if it cannot be opened.
  Captured(const std::optional<capture::CaptureOptions>& wanted, fabric::OpenOptions& fabric)
      : capture_(open(wanted)), toggled_(capture_) {
    fabric.tap = capture_;
  }

 private:
  static std::shared_ptr<capture::Capture> open(const std::optional<capture::CaptureOptions>& wanted) {
    auto opened = capture::open_capture(wanted, Log(make_stderr_sink(LogLevel::error, kProgram)));
    if (!opened) throw UsageError(opened.error().why);
    return std::move(*opened);
  }

  std::shared_ptr<capture::Capture> capture_;
  capture::ToggleBySignal toggled_;
};

}  // namespace rpcrdma::conform
