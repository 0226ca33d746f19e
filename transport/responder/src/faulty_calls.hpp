// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <deque>
#include <mutex>

namespace rpcrdma::transport {

/// Identifies a call when it is resent. The XID is not enough: another client at the same address may use the same XID.
struct CallFingerprint {
  std::uint32_t xid = 0;
  std::uint64_t hash = 0;  ///< hash of the inline message, of the lengths of its chunks, and of the Read positions
  bool operator==(const CallFingerprint&) const = default;
};

/// Remembers calls whose chunks broke their connection. If the client sends one of them again, the server answers it
/// with ERR_CHUNK; otherwise the call would break every connection [8166-4.5.3-a]. Shared by the threads of a server.
/// Usually no call is remembered, and a look-up then takes no lock.
class FaultyCalls {
 public:
  bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }
  void add(const boost::asio::ip::address& peer, const CallFingerprint& call) {
    const std::scoped_lock lock(mutex_);
    if (entries_.size() == kMost) entries_.pop_front();
    entries_.push_back({peer, call, std::chrono::steady_clock::now()});
    count_.store(entries_.size(), std::memory_order_release);
  }
  /// Removes the call, and returns true if it was remembered. A call is forgotten after kLifetime, or when kMost later
  /// calls are remembered.
  bool take(const boost::asio::ip::address& peer, const CallFingerprint& call) {
    if (empty()) return false;
    const std::scoped_lock lock(mutex_);
    const auto oldest = std::chrono::steady_clock::now() - kLifetime;
    std::erase_if(entries_, [&](const Entry& entry) { return entry.since < oldest; });
    const bool found =
        std::erase_if(entries_, [&](const Entry& entry) { return entry.call == call && entry.peer == peer; }) != 0;
    count_.store(entries_.size(), std::memory_order_release);
    return found;
  }

 private:
  static constexpr std::size_t kMost = 256;
  static constexpr std::chrono::minutes kLifetime{5};
  struct Entry {
    boost::asio::ip::address peer;
    CallFingerprint call;
    std::chrono::steady_clock::time_point since;
  };
  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace rpcrdma::transport
