// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "record.hpp"

namespace rpcrdma::capture {

/// A bounded queue of records between one producer and one consumer, without locks. A record is contiguous.
class ByteRing {
 public:
  /// `capacity` is a power of two.
  explicit ByteRing(std::size_t capacity)
      : words_(std::make_unique_for_overwrite<std::uint64_t[]>(capacity / sizeof(std::uint64_t))),
        capacity_(capacity) {}

  /// Producer: returns room for a record of `size` bytes, or null if there is none. `size` is a multiple of 8.
  std::byte* reserve(std::uint32_t size) noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::size_t at = tail & (capacity_ - 1);
    skipped_ = size <= capacity_ - at ? 0 : static_cast<std::uint32_t>(capacity_ - at);
    if (tail + skipped_ + size - seen_head_ > capacity_) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (tail + skipped_ + size - seen_head_ > capacity_) return nullptr;
    }
    if (skipped_ == 0) return bytes() + at;
    new (bytes() + at) RecordStart{skipped_, RecordKind::skip};
    return bytes();
  }
  /// Producer: publishes the record written to the result of reserve().
  void commit(std::uint32_t size) noexcept {
    tail_.store(tail_.load(std::memory_order_relaxed) + skipped_ + size, std::memory_order_release);
  }
  /// Producer: whether more than half of the ring is in use.
  bool half_full() noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ <= capacity_ / 2) return false;
    seen_head_ = head_.load(std::memory_order_acquire);
    return tail - seen_head_ > capacity_ / 2;
  }

  /// Consumer: the position after the last record that the producer has committed so far. An argument for front().
  std::uint64_t end() const noexcept { return tail_.load(std::memory_order_acquire); }
  /// Consumer: the first record before the position `end`, null if there is none. Valid until pop().
  const Record* front(std::uint64_t end) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head == end) return nullptr;
    const auto* start = std::launder(reinterpret_cast<const RecordStart*>(bytes() + (head & (capacity_ - 1))));
    if (start->kind == RecordKind::skip) {
      head += start->size;
      head_.store(head, std::memory_order_release);
    }
    return std::launder(reinterpret_cast<const Record*>(bytes() + (head & (capacity_ - 1))));
  }
  /// Consumer: releases the front record.
  void pop(const Record& front) noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + front.start.size, std::memory_order_release);
  }

 private:
  std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(words_.get()); }

  std::unique_ptr<std::uint64_t[]> words_;
  const std::size_t capacity_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::uint64_t seen_head_ = 0;  // the value of head_ that the producer read last; head_ may be larger by now
  std::uint32_t skipped_ = 0;    // bytes that reserve() has skipped at the end of the ring, as a record is contiguous
};

}  // namespace rpcrdma::capture
