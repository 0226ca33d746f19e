// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The command line of rpcrdma-nfsd.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rpcrdma/base/log_format.hpp"
#include "rpcrdma/base/wait_policy.hpp"
#include "rpcrdma/capture/capture.hpp"
#include "rpcrdma/cli/endpoint.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/nfsd/exports/export_spec.hpp"
#include "rpcrdma/nfsd/program/config_file.hpp"
#include "rpcrdma/nfsd/sandbox/sandbox.hpp"

namespace rpcrdma::nfsd {

struct ListenSpec {
  fabric::Endpoint endpoint;
  fabric::Provider provider = fabric::Provider::automatic;
};

struct Options {
  std::vector<ExportSpec> exports;       ///< those of the command line, then those of the configuration file
  std::size_t command_line_exports = 0;  ///< how many of `exports` are from the command line
  std::filesystem::path config;          ///< the configuration file; empty if there is none
  Settings settings;                     ///< settings in the configuration file
  std::vector<ListenSpec> listens;
  std::vector<boost::asio::ip::tcp::endpoint> tcp_listens;
  fabric::CrcPolicy crc = fabric::CrcPolicy::automatic;
  transport::VersionChoice version = transport::VersionChoice::one;  ///< version of RPC-over-RDMA
  std::filesystem::path state_dir;
  unsigned threads = 1;
  std::uint32_t credits = 32;
  std::uint32_t inline_threshold = 4096;
  std::uint32_t max_connections = 1024;
  std::uint32_t keepalive = 60;  ///< seconds
  Polling poll;                  ///< polling of the event loops
  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;
  SandboxMode sandbox = SandboxMode::on;
  bool rpcbind = false;
  std::optional<boost::asio::ip::tcp::endpoint> metrics;  ///< the address at which statistics are served by HTTP
  std::optional<capture::CaptureOptions> capture;         ///< empty: nothing is captured
};

/// Parses the command line. Returns nothing if the program must exit with `exit_code` at once (help, version, or a
/// usage error, which has been reported on standard error).
std::optional<Options> parse_options(int argc, const char* const* argv, int& exit_code);

/// Parses [FABRIC@]ADDR:PORT; uses `provider` if no fabric is named.
Checked<ListenSpec> parse_listen(std::string_view text, fabric::Provider provider);
using cli::parse_endpoint;
/// Parses the address at which statistics are served: either ADDR:PORT, as for parse_endpoint(), or PORT alone, which
/// stands for 127.0.0.1:PORT. Returns nothing for other text.
std::optional<boost::asio::ip::tcp::endpoint> parse_metrics(std::string_view text);
std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace rpcrdma::nfsd
