// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A server for tests of the facades: it has two threads, and listens on the iwarp fabric and on TCP.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "hello.rpcrdma.hpp"
#include "rpcrdma/client.hpp"
#include "rpcrdma/server.hpp"

namespace rpcrdma::test {

class Bed {
 public:
  explicit Bed(unsigned threads = 2, transport::VersionChoice version = transport::VersionChoice::one);
  ~Bed();

  /// The server's address as text; `fabric` is "iwarp" or "tcp".
  std::string at(std::string_view fabric) const;
  /// The handler of HANG keeps its calls in `held` without an answer. await_held() waits until `held` has at least
  /// `count` calls. answer_held() answers all of them.
  void await_held(std::size_t count);
  void answer_held();

  std::atomic<std::uint32_t> total{0};
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<rpc::ServerCall<hello::Hang>> held;
  std::vector<rpc::ReverseClient> watchers;
  std::optional<Server> server;

 private:
  void serve();
};

/// Waits for a future; returns the error that it carries, or success.
template <class Future>
error_code error_of(Future future) {
  try {
    future.get();
    return {};
  } catch (const boost::system::system_error& failed) {
    return failed.code();
  }
}

}  // namespace rpcrdma::test
