// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/capture_option/capture_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <utility>

namespace rpcrdma::capture {
namespace {

/// The capture that the handler of SIGUSR2 stops or starts again. Null if there is no ToggleBySignal with a capture.
std::atomic<Capture*> toggled{nullptr};

void toggle_by_signal(int /*number*/) {
  if (Capture* const capture = toggled.load()) capture->toggle();
}

}  // namespace

CLI::Option* add_capture_option(CLI::App& app, std::optional<CaptureOptions>& wanted) {
  const auto take = [&wanted](const std::string& text) {
    auto parsed = parse_capture(text);
    if (!parsed) throw CLI::ValidationError("--capture", parsed.error().why);
    wanted = std::move(*parsed);
  };
  return app
      .add_option_function<std::string>(
          "--capture", take,
          "Write the RDMA traffic to this file, for Wireshark; SIGUSR2 stops and starts it. Copying and writing each "
          "message slows down small calls, most where no processor is idle")
      ->type_name("FILE[,OPTION]...")
      ->default_str("off");
}

cli::Section help_section_of_capture() {
  return {"Options of a capture",
          {{"size=N[K|M|G]", "a ring of files of this size; FILE.pcapng becomes FILE.1.pcapng [one file of any size]"},
           {"files=N", "files in the ring [2]"},
           {"snap=N[K|M|G]", "bytes kept of each RDMA Read and Write [all]"},
           {"peer=CIDR", "connections with these addresses only [all]"},
           {"stopped", "capture nothing before the first SIGUSR2"}}};
}

boost::system::result<std::shared_ptr<Capture>, CaptureRefusal> open_capture(
    const std::optional<CaptureOptions>& wanted, Log log) {
  if (!wanted) return std::shared_ptr<Capture>();
  auto opened = Capture::open(*wanted, std::move(log));
  if (!opened) return CaptureRefusal{fmt::format("--capture: {}: {}", wanted->file.string(), opened.error().message())};
  return std::move(*opened);
}

ToggleBySignal::ToggleBySignal(std::shared_ptr<Capture> capture) : capture_(std::move(capture)) {
  if (capture_ == nullptr) return;
  toggled = capture_.get();
  std::signal(SIGUSR2, toggle_by_signal);
}

ToggleBySignal::~ToggleBySignal() {
  if (capture_ == nullptr) return;
  std::signal(SIGUSR2, SIG_IGN);
  toggled = nullptr;
  capture_->close();
}

}  // namespace rpcrdma::capture
