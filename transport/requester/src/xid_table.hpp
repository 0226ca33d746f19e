// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace rpcrdma::transport {

class CallSlot;

/// Finds slots by XID: a hash table with open addressing. Its size is fixed, with at least four places for each entry.
class XidTable {
 public:
  explicit XidTable(std::uint32_t most)
      : places_(std::bit_ceil(std::size_t{most} * 4 + 4)), mask_(places_.size() - 1) {}

  CallSlot* find(std::uint32_t xid) const noexcept {
    for (std::size_t i = home(xid);; i = (i + 1) & mask_) {
      if (places_[i].slot == nullptr) return nullptr;
      if (places_[i].xid == xid) return places_[i].slot;
    }
  }
  /// `xid` must not be in the table yet.
  void insert(std::uint32_t xid, CallSlot& slot) noexcept {
    std::size_t i = home(xid);
    while (places_[i].slot != nullptr) i = (i + 1) & mask_;
    places_[i] = {xid, &slot};
  }
  void erase(std::uint32_t xid) noexcept {
    std::size_t i = home(xid);
    for (;; i = (i + 1) & mask_) {
      if (places_[i].slot == nullptr) return;
      if (places_[i].xid == xid) break;
    }
    // find() stops at an empty place. Each later entry that find() would no longer reach is therefore moved into the
    // place that becomes empty.
    for (std::size_t next = (i + 1) & mask_; places_[next].slot != nullptr; next = (next + 1) & mask_) {
      const std::size_t wanted = home(places_[next].xid);
      if (((next - wanted) & mask_) < ((next - i) & mask_)) continue;
      places_[i] = places_[next];
      i = next;
    }
    places_[i] = {};
  }

 private:
  struct Place {
    std::uint32_t xid = 0;
    CallSlot* slot = nullptr;
  };
  std::size_t home(std::uint32_t xid) const noexcept { return (xid * 0x9e3779b1u >> 8) & mask_; }

  std::vector<Place> places_;
  std::size_t mask_;
};

}  // namespace rpcrdma::transport
