// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/base/log_format.hpp"
#include "rpcrdma/base/wait_policy.hpp"
#include "rpcrdma/capture/capture.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/ipoib/link/link.hpp"
#include "rpcrdma/ipoib/link/tun.hpp"

namespace rpcrdma::ipoib {

/// A value of --peer, which describes one neighbour: `addresses` are the IP addresses that the link reaches through it,
/// and `endpoint` is the endpoint at which it accepts connections of the link.
struct PeerOption {
  IpPrefix addresses;
  fabric::Endpoint endpoint;
};

/// The command line of rpcrdma-ip.
struct Options {
  TunOptions device;
  LinkOptions link;
  fabric::Endpoint listen;
  fabric::OpenOptions fabric;
  std::vector<PeerOption> peers;
  Polling poll;
  std::optional<capture::CaptureOptions> capture;  ///< empty: nothing is captured
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;
};

/// Parses the command line. If it asks for the help or the version, or contains an error, prints that, sets `status` to
/// the exit status of the program, and returns nothing.
std::optional<Options> parse_options(int argc, const char* const* argv, int& status);

}  // namespace rpcrdma::ipoib
