// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "rpcrdma/connection/receive.hpp"
#include "rpcrdma/connection/receive_budget.hpp"
#include "rpcrdma/memory/pool.hpp"

namespace rpcrdma::transport {

/// Memory that one or more receive buffers share.
struct ReceiveBlock {
  memory::RegisteredBuffer memory;  ///< contains the receive buffers
  std::size_t footprint = 0;        ///< bytes that the block takes from the pool
  std::uint32_t users = 0;          ///< the number of receive buffers in the block
};

/// The receive buffers of a connection, and their size. A posted buffer cannot be withdrawn. After a change of the
/// size, each buffer is therefore replaced when it is about to be posted again.
class ReceiveBuffers {
 public:
  /// Starts without buffers. add() makes buffers of `size` bytes from memory of `pool`. `budget` counts this memory,
  /// and may be null.
  ReceiveBuffers(memory::Pool& pool, ReceiveBudget* budget, std::uint32_t size) noexcept
      : pool_(pool), budget_(budget), size_(size) {}
  ~ReceiveBuffers();
  ReceiveBuffers(const ReceiveBuffers&) = delete;
  ReceiveBuffers& operator=(const ReceiveBuffers&) = delete;

  /// The number of buffers.
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  /// Buffer `index`; its address is stable.
  ReceiveSlot& operator[](std::uint32_t index) noexcept { return slots_[index]; }
  /// The size of new buffers.
  std::uint32_t size() const noexcept { return size_; }
  /// The bytes of all buffers together.
  std::size_t octets() const noexcept { return octets_; }
  /// The number of buffers, posted or lent, that are still smaller than size().
  std::uint32_t smaller() const noexcept { return smaller_; }

  /// Adds `more` buffers. If `within_budget` is true and there is a budget, adds only as many of them as fit into the
  /// memory that the budget offers, perhaps none. Returns false, and adds no buffer, if the pool cannot supply the
  /// memory.
  bool add(Connection& owner, std::uint32_t more, bool within_budget);
  /// Whether all buffers, with `size` bytes each, would fit the budget or, if there is none, a fixed part of the pool.
  bool has_room(std::uint32_t size) const noexcept;
  /// True if there is a budget and it is short.
  bool budget_short() const noexcept { return budget_ != nullptr && budget_->is_short(); }
  /// Changes size().
  void set_size(std::uint32_t size) noexcept;
  /// Replaces the buffer of `slot`, which must not be posted, by a buffer of size() bytes. If memory is short, the slot
  /// keeps its old buffer. Returns true if the buffer of the slot now has at least size() bytes.
  bool replace(ReceiveSlot& slot);

 private:
  ReceiveBlock* make_block(std::uint32_t size);
  void release(ReceiveBlock& block) noexcept;

  memory::Pool& pool_;
  ReceiveBudget* budget_;
  std::uint32_t size_;
  std::size_t octets_ = 0;
  std::size_t footprint_ = 0;  // bytes taken from the pool, which rounds up to its size classes
  std::uint32_t smaller_ = 0;
  std::vector<std::unique_ptr<ReceiveBlock>> blocks_;
  std::deque<ReceiveSlot> slots_;  // a deque: addresses are stable
};

}  // namespace rpcrdma::transport
