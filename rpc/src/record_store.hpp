// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/container/vector.hpp>
#include <cstddef>
#include <vector>

namespace rpcrdma::rpc {

/// The bytes of a record. resize() with boost::container::default_init leaves the added bytes uninitialized.
using Record = boost::container::vector<std::byte>;

/// Keeps the memory of large records for later records of any connection of a thread.
class RecordStore {
 public:
  RecordStore() { kept_.reserve(kMostKept); }

  /// Returns an empty vector with a capacity of at least `bytes`. Does not return a kept vector of more than about
  /// twice this capacity. The caller's budget counts only `bytes`, so the additional memory would not be counted.
  Record take(std::size_t bytes) {
    for (auto at = kept_.rbegin(); at != kept_.rend(); ++at) {
      if (at->capacity() < bytes || at->capacity() / 2 > bytes) continue;
      at->swap(kept_.back());
      Record found = std::move(kept_.back());
      kept_.pop_back();
      bytes_ -= found.capacity();
      found.clear();
      return found;
    }
    Record fresh;
    fresh.reserve(bytes);
    return fresh;
  }
  void put(Record buffer) noexcept {
    if (kept_.size() == kMostKept || buffer.capacity() > kMostBytes - bytes_) return;
    bytes_ += buffer.capacity();
    kept_.push_back(std::move(buffer));
  }
  void clear() noexcept {
    kept_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMostKept = 64;
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;

  std::vector<Record> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace rpcrdma::rpc
