// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <vector>

namespace rpcrdma::rpc {

/// Memory of large records, kept for the next ones of any connection of a thread.
class RecordStore {
 public:
  RecordStore() { kept_.reserve(kMostKept); }

  /// Empty, with room for `octets`, and for twice as many at most: who is counted by what he asked for gets no more.
  std::vector<std::byte> take(std::size_t octets) {
    for (auto at = kept_.rbegin(); at != kept_.rend(); ++at) {
      if (at->capacity() < octets || at->capacity() / 2 > octets) continue;
      std::vector<std::byte> found = std::move(*at);
      *at = std::move(kept_.back());
      kept_.pop_back();
      octets_ -= found.capacity();
      found.clear();
      return found;
    }
    std::vector<std::byte> fresh;
    fresh.reserve(octets);
    return fresh;
  }
  void put(std::vector<std::byte> buffer) noexcept {
    if (kept_.size() == kMostKept || buffer.capacity() > kMostOctets - octets_) return;
    octets_ += buffer.capacity();
    kept_.push_back(std::move(buffer));
  }
  void clear() noexcept {
    kept_.clear();
    octets_ = 0;
  }

 private:
  static constexpr std::size_t kMostKept = 64;
  static constexpr std::size_t kMostOctets = std::size_t{8} << 20;

  std::vector<std::vector<std::byte>> kept_;
  std::size_t octets_ = 0;
};

}  // namespace rpcrdma::rpc
