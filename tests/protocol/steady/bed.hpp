// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A client and a server of the service in service.hpp, on the iwarp fabric. They share one event loop, so that the
// costs of both are counted.
#include <gtest/gtest.h>

#include <vector>

#include "copies.hpp"
#include "rpcrdma/fabric/iwarp/iwarp.hpp"
#include "rpcrdma/requester/client.hpp"
#include "rpcrdma/responder/server.hpp"
#include "rpcrdma/rpc/client.hpp"
#include "rpcrdma/rpc/dispatcher.hpp"
#include "service.hpp"
#include "support/run.hpp"
#include "tally.hpp"

namespace rpcrdma::test {

/// The cost of calls, on both sides together.
struct Cost {
  std::uint64_t allocations = 0;
  std::uint64_t copied = 0;         ///< bytes, by memcpy() and memmove()
  std::uint64_t fabric_copied = 0;  ///< bytes of payload that the fabric has copied from large segments
};

class SteadyBed {
 public:
  static constexpr std::uint32_t kLargest = 1u << 20;
  static constexpr std::uint32_t kMostDepth = 16;

  explicit SteadyBed(bool crc);
  ~SteadyBed();

  /// Makes `calls` calls of P with `octets` bytes of bulk data each, `depth` at a time.
  template <class P>
  Cost run(std::uint32_t octets, std::uint32_t depth, std::uint32_t calls) {
    source_part_ = source_.first(octets);
    std::vector<std::unique_ptr<Lane<P>>> lanes;
    std::uint32_t left = calls;
    for (std::uint32_t i = 0; i < depth; ++i)
      lanes.push_back(std::make_unique<Lane<P>>(*client_, buffers_[i].first(octets), left));
    const Cost before = now();
    for (const auto& lane : lanes) lane->start();
    const auto over = [&] { return std::ranges::all_of(lanes, [](const auto& lane) { return lane->over(); }); };
    EXPECT_TRUE(run_until(context_, over));
    const Cost after = now();
    for (const auto& lane : lanes) EXPECT_FALSE(lane->failed()) << lane->failed().message();
    return {after.allocations - before.allocations, after.copied - before.copied,
            after.fabric_copied - before.fabric_copied};
  }

  std::span<std::byte> source() const { return source_.octets(); }
  std::span<std::byte> sink() const { return sink_.octets(); }
  std::span<std::byte> buffer(std::uint32_t lane) const { return buffers_[lane].octets(); }

 private:
  /// Makes calls one after another. All lanes share the counter `left`, which is the number of calls that no lane has
  /// started yet. A lane ends when it has no call in progress and `left` is zero, or when one of its calls fails.
  template <class P>
  class Lane {
   public:
    Lane(rpc::Client& client, BufferRef buffer, std::uint32_t& left) : client_(client), buffer_(buffer), left_(left) {
      if constexpr (std::is_same_v<P, Read>) {
        args_.count = buffer.size;
        options_.into({&buffer_, 1});
      } else if constexpr (std::is_same_v<P, Write>) {
        args_.data.set_parts({&buffer_, 1});
      }
    }
    void start() {
      if (failed_ || left_ == 0) {
        over_ = true;
        return;
      }
      --left_;
      client_.async_call<P>(args_, options_, [this](error_code failed, const auto&) {
        failed_ = failed;
        start();
      });
    }
    bool over() const noexcept { return over_; }
    error_code failed() const noexcept { return failed_; }

   private:
    rpc::Client& client_;
    BufferRef buffer_;
    std::uint32_t& left_;
    typename P::Args args_{};
    rpc::CallOptions options_;
    bool over_ = false;
    error_code failed_;
  };

  void serve();
  Cost now() const;

  boost::asio::io_context context_{1};
  std::unique_ptr<fabric::Fabric> client_fabric_;
  std::unique_ptr<fabric::Fabric> server_fabric_;
  memory::Pool client_pool_{*client_fabric_};
  memory::Pool server_pool_{*server_fabric_};
  memory::RegisteredBuffer source_;
  memory::RegisteredBuffer sink_;
  BufferRef source_part_;  // the part of source_ that the server returns for each READ
  BufferRef sink_part_;    // the part of sink_ into which the server reads the data of a WRITE
  std::vector<memory::RegisteredBuffer> buffers_;
  rpc::Dispatcher dispatcher_;
  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<transport::Client> connection_;
  std::unique_ptr<rpc::Client> client_;
};

}  // namespace rpcrdma::test
