// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The duplicate request cache: a non-idempotent call that a client sends again, after losing its connection,
// is answered with the first reply instead of being run again.
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/responder/responder.hpp"

namespace rpcrdma::rpc {

/// What makes two calls the same call.
struct DuplicateKey {
  boost::asio::ip::address peer;
  std::uint32_t xid = 0;
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  std::uint64_t checksum = 0;  ///< see checksum_of()
  /// Over TCP, where clients keep it when they reconnect; over RDMA they do not, and it is 0.
  std::uint16_t port = 0;
  friend bool operator==(const DuplicateKey&, const DuplicateKey&) = default;
};

/// Over credential, verifier and arguments: the whole reduced message behind its XID, and position and length of
/// each item. Data in Read chunks is not looked at: it has not been pulled yet.
std::uint64_t checksum_of(const Payload& call) noexcept;

/// A call that came again while the first one was in progress.
struct AttachedCall {
  transport::IncomingCall* call;
  transport::CallHandler* server;  ///< serves it, on the thread of its context(), if the first one is not run
};

struct DuplicateCacheOptions {
  std::size_t max_octets = std::size_t{4} << 20;  ///< of replies kept, with their overhead
  /// A call that comes again later is another one, of a client that counts its XIDs anew.
  std::chrono::steady_clock::duration max_age = std::chrono::minutes(2);
};

/// Shared by all threads of a server: locks one of its shards for a moment, for non-idempotent calls only.
class DuplicateCache {
 public:
  using Reply = std::shared_ptr<const std::vector<std::byte>>;
  explicit DuplicateCache(DuplicateCacheOptions options = {});
  ~DuplicateCache();
  DuplicateCache(const DuplicateCache&) = delete;
  DuplicateCache& operator=(const DuplicateCache&) = delete;

  enum class Found : std::uint8_t {
    nothing,      ///< run it, then end it with complete() or forget()
    in_progress,  ///< `call` has been attached: the other one's complete() or forget() returns it
    reply,        ///< answer with the reply
  };
  /// Looks `key` up; an unknown one is entered as being in progress.
  Found begin(const DuplicateKey& key, const AttachedCall& call, Reply& reply);
  /// The call of `key` has been answered: keeps the reply, octet for octet, XID first. Returns the calls that
  /// are attached to it; each is to be answered with `reply` on the thread of its own context().
  std::vector<AttachedCall> complete(const DuplicateKey& key, Reply reply);
  /// The call of `key` was not run: the next one of its kind is run. Returns the calls that are attached to it; each
  /// is to be given to its `server` again.
  std::vector<AttachedCall> forget(const DuplicateKey& key);

  struct Counters {
    std::size_t entries = 0;
    std::size_t octets = 0;
    std::uint64_t replayed = 0;
    std::uint64_t attached = 0;
    std::uint64_t evicted = 0;
  };
  Counters counters() const;

 private:
  struct Shard;
  Shard& shard_of(const DuplicateKey& key) const noexcept;

  const std::chrono::steady_clock::duration max_age_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace rpcrdma::rpc
