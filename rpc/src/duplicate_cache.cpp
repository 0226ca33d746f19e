// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/rpc/duplicate_cache.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

#include "rpcrdma/base/cursor.hpp"

namespace rpcrdma::rpc {
namespace {

constexpr std::size_t kShards = 8;
constexpr std::size_t kOverhead = 256;  // approximate bytes of an entry without its reply

/// 64-bit FNV-1a with a final mix. If two different calls have the same checksum, the cache mistakes one for the other
/// only if all other members of their DuplicateKeys are equal too, such as the caller's address, the XID and the
/// procedure.
class Checksum {
 public:
  void add(Octets bytes) noexcept {
    for (const std::byte byte : bytes) step(static_cast<std::uint8_t>(byte));
  }
  void add(std::uint64_t value) noexcept {
    for (int i = 0; i < 8; ++i, value >>= 8) step(static_cast<std::uint8_t>(value & 0xff));
  }
  std::uint64_t value() const noexcept {
    std::uint64_t x = state_;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
  }

 private:
  void step(std::uint8_t byte) noexcept { state_ = (state_ ^ byte) * 0x100000001b3u; }
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

struct KeyHash {
  std::size_t operator()(const DuplicateKey& key) const noexcept {
    return static_cast<std::size_t>(key.checksum * 31 + key.xid);
  }
};

}  // namespace

std::uint64_t checksum_of(const Payload& call, std::span<const xdr::EligibleRange> eligible) noexcept {
  constexpr std::uint32_t kXid = 4;
  Checksum sum;
  for (const PayloadPiece& piece : call.pieces) {
    const std::uint64_t end = std::uint64_t{piece.position} + piece.octets.size;
    const auto add = [&](std::uint64_t from, std::uint64_t to) {
      from = std::max<std::uint64_t>(from, piece.position);
      to = std::min(to, end);
      if (from < to)
        sum.add(Octets(piece.octets.octets())
                    .subspan(static_cast<std::size_t>(from - piece.position), static_cast<std::size_t>(to - from)));
    };
    std::uint64_t at = kXid;
    for (const xdr::EligibleRange& range : eligible) {
      add(at, range.position);
      at = std::uint64_t{range.position} + range.length + (-range.length & 3);  // with the pad
    }
    add(at, end);
  }
  return sum.value();
}

struct DuplicateCache::Shard {
  struct Entry {
    DuplicateKey key;
    Reply reply;  // null while the call is in progress
    std::vector<AttachedCall> attached;
    std::chrono::steady_clock::time_point answered_at{};
  };
  using Entries = std::list<Entry>;

  static std::size_t cost(const Entry& entry) noexcept { return kOverhead + entry.reply->size(); }

  void evict() {
    while (bytes > max_bytes && !answered.empty()) {
      bytes -= cost(answered.front());
      index.erase(answered.front().key);
      answered.pop_front();
      ++counters.evicted;
    }
  }

  mutable std::mutex mutex;
  Entries answered;  // the least recently used entry is first
  Entries running;
  std::unordered_map<DuplicateKey, Entries::iterator, KeyHash> index;
  std::size_t bytes = 0;
  std::size_t max_bytes = 0;
  Counters counters;
};

DuplicateCache::DuplicateCache(DuplicateCacheOptions options) : max_age_(options.max_age) {
  for (std::size_t i = 0; i < kShards; ++i) {
    shards_.push_back(std::make_unique<Shard>());
    shards_.back()->max_bytes = options.max_bytes / kShards;
  }
}

DuplicateCache::~DuplicateCache() = default;

DuplicateCache::Shard& DuplicateCache::shard_of(const DuplicateKey& key) const noexcept {
  return *shards_[KeyHash()(key) % kShards];
}

DuplicateCache::Found DuplicateCache::begin(const DuplicateKey& key, const AttachedCall& call, Reply& reply) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.index.find(key);
  if (known == shard.index.end()) {
    shard.index[key] = shard.running.insert(shard.running.end(), {key, nullptr, {}, {}});
    return Found::nothing;
  }
  Shard::Entry& entry = *known->second;
  if (entry.reply == nullptr) {
    entry.attached.push_back(call);
    ++shard.counters.attached;
    return Found::in_progress;
  }
  if (std::chrono::steady_clock::now() - entry.answered_at >= max_age_) {
    shard.bytes -= Shard::cost(entry);
    entry.reply = nullptr;
    shard.running.splice(shard.running.end(), shard.answered, known->second);
    return Found::nothing;
  }
  shard.answered.splice(shard.answered.end(), shard.answered, known->second);
  ++shard.counters.replayed;
  reply = entry.reply;
  return Found::reply;
}

std::vector<AttachedCall> DuplicateCache::complete(const DuplicateKey& key, Reply reply) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.index.find(key);
  if (known == shard.index.end()) return {};
  Shard::Entry& entry = *known->second;
  entry.reply = std::move(reply);
  entry.answered_at = std::chrono::steady_clock::now();
  std::vector<AttachedCall> attached = std::move(entry.attached);
  shard.answered.splice(shard.answered.end(), shard.running, known->second);
  shard.bytes += Shard::cost(entry);
  shard.evict();
  return attached;
}

std::vector<AttachedCall> DuplicateCache::forget(const DuplicateKey& key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.index.find(key);
  if (known == shard.index.end()) return {};
  std::vector<AttachedCall> attached = std::move(known->second->attached);
  shard.running.erase(known->second);
  shard.index.erase(known);
  return attached;
}

DuplicateCache::Counters DuplicateCache::counters() const {
  Counters sum;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    sum.entries += shard->index.size();
    sum.bytes += shard->bytes;
    sum.replayed += shard->counters.replayed;
    sum.attached += shard->counters.attached;
    sum.evicted += shard->counters.evicted;
  }
  return sum;
}

}  // namespace rpcrdma::rpc
