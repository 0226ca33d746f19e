// SPDX-License-Identifier: BSD-3-Clause
#include "nfs_server.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include "rpcrdma/nfsd/program/daemon.hpp"

namespace rpcrdma::bench {
namespace {

nfsd::ExportSpec export_of(ExportKind kind, const TemporaryDirectory& folder) {
  std::string text = (kind == ExportKind::memory ? "memory" : folder.exported().string()) + ":/bench,no_root_squash";
  if (kind == ExportKind::directory_async) text += ",async";
  auto spec = nfsd::parse_export(text);
  if (!spec) throw std::runtime_error(spec.error().text);
  return std::move(*spec);
}

/// The port of the ADDR:PORT that follows `key` in the ready line of the server.
std::uint16_t port_in(std::string_view line, std::string_view key) {
  const std::string_view rest = line.substr(line.find(key));
  return static_cast<std::uint16_t>(std::stoul(std::string(rest.substr(rest.find(':') + 1))));
}

void serve(const Setting& setting, ExportKind kind, const TemporaryDirectory& folder, NfsPort port, Board& board,
           const Child::Ready& ready) {
  const boost::asio::ip::address loopback = boost::asio::ip::make_address("127.0.0.1");
  nfsd::Options options;
  options.exports.push_back(export_of(kind, folder));
  options.command_line_exports = 1;
  options.listens.push_back({{loopback, 0}, setting.open.provider});
  options.tcp_listens.emplace_back(loopback, 0);
  options.crc = setting.open.crc;
  options.version = setting.server;
  options.poll = setting.poll;
  options.inline_threshold = setting.threshold;
  options.state_dir = folder.path() / "state";
  options.log_level = LogLevel::warn;
  if (setting.statistics) options.metrics.emplace(loopback, 0);
  nfsd::Daemon daemon(std::move(options), Log(make_stderr_sink(LogLevel::warn, "rpcrdma-bench")));
  if (const auto started = daemon.start(); !started) throw std::runtime_error(started.error().text);
  if (setting.statistics) board.statistics_port = port_in(daemon.ready_line(), "metrics=");
  ready(port_in(daemon.ready_line(), port == NfsPort::tcp ? "tcp=" : "rdma="));
  daemon.run();
}

}  // namespace

std::unique_ptr<Child> start_nfs_server(const Setting& setting, ExportKind kind, const TemporaryDirectory& folder,
                                        NfsPort port) {
  return std::make_unique<Child>(
      [&](Board& board, const Child::Ready& ready) { serve(setting, kind, folder, port, board, ready); });
}

}  // namespace rpcrdma::bench
