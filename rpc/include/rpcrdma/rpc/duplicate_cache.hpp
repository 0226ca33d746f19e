// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The duplicate request cache. A client may send a non-idempotent call again after the loss of its connection. If the
// cache still holds the reply to the first transmission, the server does not run the call again, but sends this reply.
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rpcrdma/base/export.hpp"
#include "rpcrdma/base/payload.hpp"
#include "rpcrdma/responder/responder.hpp"
#include "rpcrdma/xdr/decoder.hpp"

namespace rpcrdma::rpc {

/// Two calls with equal keys count as the same call.
struct DuplicateKey {
  boost::asio::ip::address peer;  ///< address of the caller
  std::uint32_t xid = 0;          ///< XID of the call
  std::uint32_t program = 0;      ///< program number
  std::uint32_t version = 0;      ///< program version
  std::uint32_t procedure = 0;    ///< procedure number
  std::uint64_t checksum = 0;     ///< the result of checksum_of()
  /// Over TCP: the caller's port, because clients use the same port again when they reconnect. Over RDMA: 0, because a
  /// client has another port after it has reconnected.
  std::uint16_t port = 0;
  friend bool operator==(const DuplicateKey&, const DuplicateKey&) = default;
};

/// Returns a checksum of the bytes that follow the XID in the call message. The credential and the verifier are among
/// these bytes. The lengths of the DDP-eligible arguments are included, but not their data, which `eligible` locates,
/// because the data may be in Read chunks that have not been pulled yet. Thus the checksum stays the same if the client
/// reduces an argument only in one of two transmissions, for example because the new connection has another inline
/// threshold.
RPCRDMA_EXPORT std::uint64_t checksum_of(const Payload& call, std::span<const xdr::EligibleRange> eligible) noexcept;

/// A repeated call that has arrived while the first call with its key is in progress. It waits until the first call
/// ends. If the first call has been run, its reply also answers the repeated call. Otherwise `server` serves the
/// repeated call.
struct AttachedCall {
  transport::IncomingCall* call;  ///< the repeated call
  transport::CallHandler*
      server;  ///< serves `call`, on the thread of the call's context(), if the first call is not run
};

/// Bounds of the cache; no RFC sets them.
struct DuplicateCacheOptions {
  std::size_t max_bytes = std::size_t{4} << 20;  ///< bytes of the replies kept and their overhead
  /// An equal call that arrives this long after the reply counts as new, because a client may reuse its XIDs.
  std::chrono::steady_clock::duration max_age = std::chrono::minutes(2);
};

/// A cache shared by all threads of a server. Each non-idempotent call locks one shard of the cache briefly;
/// idempotent calls do not use the cache.
class RPCRDMA_EXPORT DuplicateCache {
 public:
  /// A reply message, from its XID on.
  using Reply = std::shared_ptr<const std::vector<std::byte>>;
  /// An empty cache.
  explicit DuplicateCache(DuplicateCacheOptions options = {});
  ~DuplicateCache();
  DuplicateCache(const DuplicateCache&) = delete;
  DuplicateCache& operator=(const DuplicateCache&) = delete;

  /// The result of a look-up.
  enum class Found : std::uint8_t {
    nothing,      ///< run the call, then end it with complete() or forget()
    in_progress,  ///< `call` has been attached to the first call, whose complete() or forget() returns it
    reply,        ///< the call has been run before: answer it with `reply`, which begin() has set
  };
  /// Looks `key` up. An unknown key, or one whose reply is older than max_age, is entered as a call in progress.
  Found begin(const DuplicateKey& key, const AttachedCall& call, Reply& reply);
  /// To be called when the call of `key` has been run and `reply` is its reply. The cache keeps `reply` for later calls
  /// with the same key. Returns the calls that have been attached to this call. The caller answers each of them with
  /// `reply`, on the thread of that call's context().
  std::vector<AttachedCall> complete(const DuplicateKey& key, Reply reply);
  /// To be called when the call of `key` has not been run. Removes `key`, so that the next equal call is run. Returns
  /// the attached calls; the caller passes each to its `server` again.
  std::vector<AttachedCall> forget(const DuplicateKey& key);

  /// The contents and the use of the cache. `entries` and `bytes` are current values. The other counters are totals
  /// since the start.
  struct Counters {
    std::size_t entries = 0;     ///< calls in the cache
    std::size_t bytes = 0;       ///< bytes of the kept replies, with overhead
    std::uint64_t replayed = 0;  ///< calls answered from the cache
    std::uint64_t attached = 0;  ///< calls that waited for an equal call in progress
    std::uint64_t evicted = 0;   ///< replies dropped to keep within max_bytes
  };
  /// May be called on any thread.
  Counters counters() const;

 private:
  struct Shard;
  Shard& shard_of(const DuplicateKey& key) const noexcept;

  const std::chrono::steady_clock::duration max_age_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace rpcrdma::rpc
