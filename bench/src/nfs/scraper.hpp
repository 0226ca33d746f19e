// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <exception>
#include <thread>

namespace rpcrdma::bench {

/// Requests /metrics of 127.0.0.1:port now and once a second, on a thread of its own, as Prometheus does.
class Scraper {
 public:
  explicit Scraper(std::uint16_t port);
  /// Ends the thread. Throws std::runtime_error if a request has failed.
  void check();

 private:
  std::exception_ptr failed_;
  std::jthread thread_;
};

}  // namespace rpcrdma::bench
