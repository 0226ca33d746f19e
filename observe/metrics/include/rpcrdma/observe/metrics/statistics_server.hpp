// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Serves statistics over HTTP: /metrics for Prometheus, /stats.json, /healthz, and a live page at /.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "rpcrdma/base/log.hpp"
#include "rpcrdma/base/unique_function.hpp"
#include "rpcrdma/observe/stats/report.hpp"

namespace rpcrdma::observe {

/// Options of the HTTP server. The limits are this project's own; no specification states them.
struct StatisticsServerOptions {
  /// The maximum number of open connections; 0 counts as 1. If a client connects beyond the maximum, the server closes
  /// the connection that has sent no request for the longest time.
  std::size_t max_connections = 64;
  std::uint32_t max_header = 8192;  ///< bytes of a request
  /// The time limit of each of three steps: until the next request of a connection has arrived, until the Source has
  /// delivered a report, and until the response has been sent.
  std::chrono::milliseconds timeout{10000};
  /// A report younger than this is reused for further requests. Otherwise a request asks the Source for a new report.
  std::chrono::milliseconds freshness{100};
  std::string version;  ///< version of the program
  /// Names of this machine that clients may use in the Host header if the server listens on a loopback address. IP
  /// addresses and localhost are always accepted. If the server listens on another address, every name is accepted.
  std::vector<std::string> names;
};

/// Answers GET and HEAD. No request changes anything. Everything belongs to the thread of the io_context.
class StatisticsServer {
 public:
  /// A function of the user that makes a report and passes it to its argument. It may do so before it returns or later,
  /// but on the thread of the io_context. The server does not call the Source again before it has received the report.
  using Source = std::function<void(UniqueFunction<void(Report)>)>;

  /// Listens at `local` and serves as long as the result exists and `context` runs.
  static Result<std::unique_ptr<StatisticsServer>> make(boost::asio::io_context& context,
                                                        const boost::asio::ip::tcp::endpoint& local, Source source,
                                                        StatisticsServerOptions options, Log log);
  /// Closes all connections. To be called on the thread that runs the io_context, or after the io_context has stopped
  /// running.
  virtual ~StatisticsServer() = default;
  /// The address, with the port in use.
  virtual boost::asio::ip::tcp::endpoint local() const = 0;
};

}  // namespace rpcrdma::observe
