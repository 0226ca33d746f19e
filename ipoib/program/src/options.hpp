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

/// A value of --peer: the link of the neighbour with these addresses listens at this endpoint.
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

/// Returns nothing if the program must exit with `status`; errors in the command line have then been reported.
std::optional<Options> parse_options(int argc, const char* const* argv, int& status);

}  // namespace rpcrdma::ipoib
