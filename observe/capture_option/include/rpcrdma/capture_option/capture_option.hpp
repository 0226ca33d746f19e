// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The option --capture, which several programs have.
#include <memory>
#include <optional>
#include <string>

#include "rpcrdma/capture/capture.hpp"
#include "rpcrdma/cli/help.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rpcrdma::capture {

/// Adds --capture, which sets `wanted`; `wanted` must exist until the command line is parsed.
CLI::Option* add_capture_option(CLI::App& app, std::optional<CaptureOptions>& wanted);

/// The section of the help that describes the value of --capture.
cli::Section help_section_of_capture();

/// Opens the capture that --capture describes; null if the option was not given.
boost::system::result<std::shared_ptr<Capture>, CaptureRefusal> open_capture(
    const std::optional<CaptureOptions>& wanted, Log log);

/// While this object exists, SIGUSR2 stops and starts a capture. A process has at most one
/// such object at a time.
class ToggleBySignal {
 public:
  /// If `capture` is null, the handling of SIGUSR2 does not change.
  explicit ToggleBySignal(std::shared_ptr<Capture> capture);
  /// If there is a capture, closes it and makes the process ignore SIGUSR2.
  ~ToggleBySignal();
  ToggleBySignal(const ToggleBySignal&) = delete;
  ToggleBySignal& operator=(const ToggleBySignal&) = delete;

 private:
  std::shared_ptr<Capture> capture_;
};

}  // namespace rpcrdma::capture
