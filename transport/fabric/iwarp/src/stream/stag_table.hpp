// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <vector>

#include "rpcrdma/base/error.hpp"
#include "stream/exposure.hpp"

namespace rpcrdma::fabric::iwarp {

/// The STags of one fabric. They are drawn from the kernel's random numbers (RFC 5040 section 8.1.1), so that a peer
/// cannot predict the next STag, and an old STag recurs only by chance.
///
/// An open-addressed hash table indexed by the STag itself, which is random. Does not own the exposures.
class StagTable {
 public:
  /// Throws std::system_error if the kernel provides no random numbers.
  StagTable();

  /// A random STag that is neither 0 nor in use. Does not enter it in the table.
  std::uint32_t draw() noexcept;
  /// A random base for offsets: page-aligned, below 2^47, so that no range wraps.
  std::uint64_t draw_offset() noexcept;

  /// Enters `exposure` under a new STag.
  std::uint32_t insert(Exposure& exposure);
  /// The exposure that `stag` names, or null.
  Exposure* find(std::uint32_t stag) const noexcept;
  void erase(std::uint32_t stag) noexcept;
  std::size_t size() const noexcept { return used_; }

 private:
  struct Slot {
    std::uint32_t stag = 0;
    Exposure* exposure = nullptr;  // null: free
  };
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t slot_of(std::uint32_t stag) const noexcept;
  void place(std::uint32_t stag, Exposure& exposure) noexcept;
  void grow();
  std::uint32_t random() noexcept;
  int refill() noexcept;

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::array<std::uint32_t, 256> random_{};
  std::size_t random_left_ = 0;
};

}  // namespace rpcrdma::fabric::iwarp
