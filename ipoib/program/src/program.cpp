// SPDX-License-Identifier: BSD-3-Clause
// Operation: the privileged part runs first: it makes and configures the device. All later parts, and all parts that
// peers can reach, run without privileges. The device exists as long as its descriptor is open.
// Error handling: a failure at the start is reported in one line; the loss of the device ends the program.
#include "program.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "privileges.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/capture_option/capture_option.hpp"

namespace rpcrdma::ipoib {
namespace {

/// The time that shut_down() gives the connections to close cleanly.
constexpr std::chrono::seconds kGrace{2};

}  // namespace

Program::Program(Options options, Log log) : options_(std::move(options)), log_(std::move(log)) {}

std::optional<std::string> Program::open_fabric() {
  auto capture = capture::open_capture(options_.capture, log_);
  if (!capture) return std::move(capture.error().why);
  toggled_.emplace(*capture);
  fabric::OpenOptions wanted = options_.fabric;
  wanted.tap = std::move(*capture);
  auto opened = fabric::open(context_, options_.listen.address(), wanted, log_);
  if (!opened)
    return fmt::format("no fabric for {}: {}", options_.listen.address().to_string(), opened.error().message());
  fabric_ = std::move(*opened);
  return std::nullopt;
}

std::optional<std::string> Program::make_device() {
  auto made = Tun::make(context_, options_.device);
  if (made) {
    device_ = std::move(*made);
    return std::nullopt;
  }
  const bool denied = made.error() == boost::system::errc::operation_not_permitted ||
                      made.error() == boost::system::errc::permission_denied;
  return fmt::format("cannot make the device {}: {}{}", options_.device.name, made.error().message(),
                     denied ? ": CAP_NET_ADMIN is needed" : "");
}

std::optional<std::string> Program::start() {
  if (const error_code failed = keep_network_privilege()) return "cannot drop privileges: " + failed.message();
  if (auto failed = make_device()) return failed;
  if (const error_code failed = drop_privileges()) return "cannot drop privileges: " + failed.message();
  // Opened after drop_privileges(): the kernel refuses RDMA descriptors that were opened under other credentials.
  if (auto failed = open_fabric()) return failed;
  auto link = Link::make(*fabric_, *device_, options_.link, log_);
  if (!link) return "no memory for packets: " + link.error().message();
  link_ = std::move(*link);
  const auto at = link_->listen(options_.listen);
  if (!at)
    return fmt::format("cannot listen at {} port {}: {}", options_.listen.address().to_string(), options_.listen.port(),
                       at.error().message());
  port_ = at->port();
  for (const PeerOption& peer : options_.peers) link_->add_neighbour(peer.addresses, peer.endpoint);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) signals_.add(number);
  await_signal();
  link_->start([this](error_code why) {
    log_.error("device {} failed: {}; exiting", device_->name(), why.message());
    shut_down(EXIT_FAILURE);
  });
  log_.info("listening at {} port {} on {}", at->address().to_string(), at->port(), fabric_->capabilities().name);
  return std::nullopt;
}

std::string Program::ready_line() const {
  return fmt::format("ready dev={} mtu={} port={}", device_->name(), options_.link.mtu, port_);
}

int Program::run() {
  runner_.run();
  link_.reset();
  return status_;
}

void Program::await_signal() {
  signals_.async_wait([this](error_code failed, int number) {
    if (failed) return;
    if (number == SIGUSR1)
      report();
    else
      shut_down(EXIT_SUCCESS);
    await_signal();
  });
}

void Program::shut_down(int status) {
  if (std::exchange(ending_, true)) std::_Exit(EXIT_FAILURE);
  status_ = status;
  grace_.expires_after(kGrace);
  grace_.async_wait([this](error_code failed) {
    if (!failed) context_.stop();
  });
  link_->close([this] { context_.stop(); });
}

void Program::report() const {
  const Runner::Counters waits = runner_.counters();
  print_error("counters connections={} registered={} {} polls={} polls_found={} blocks={}\n", link_->connections(),
              link_->registered_bytes(), link_->statistics().text(), waits.polls, waits.found, waits.blocks);
  std::fflush(stderr);
}

}  // namespace rpcrdma::ipoib
