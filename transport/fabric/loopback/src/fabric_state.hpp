// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rpcrdma/fabric/loopback/loopback.hpp"

namespace rpcrdma::fabric::loopback {

struct WindowState;

/// Counts operations and makes selected ones fail.
class Faults {
 public:
  void arm(LoopbackOperation operation, std::uint64_t n, error_code error) {
    armed_.push_back({operation, count(operation) + n, error});
  }
  std::uint64_t count(LoopbackOperation operation) const noexcept {
    return counts_[static_cast<std::size_t>(operation)];
  }
  /// Counts one operation; returns an error if arm() has chosen this operation to fail.
  error_code next(LoopbackOperation operation) noexcept;

 private:
  struct Armed {
    LoopbackOperation operation;
    std::uint64_t at;
    error_code error;
  };
  std::array<std::uint64_t, kLoopbackOperations> counts_{};
  std::vector<Armed> armed_;
};

/// The state that a fabric shares with its queue pairs. Both own it, because a queue pair may outlive the fabric.
struct FabricState {
  Capabilities capabilities;
  Counters counters;
  std::string label;
  Faults faults;
  bool lost = false;
  UniqueFunction<void(error_code)> on_end;
  std::unordered_map<std::uint32_t, MutableOctets> regions;  ///< by local key
  std::uint32_t next_key = 1;
  std::size_t bound_windows = 0;
  std::vector<std::weak_ptr<WindowState>> windows;  ///< in order of creation; some may have expired
  std::uint32_t overstatement = 0;                  ///< bytes added to the reported length of the next message

  /// The error that the operation must return: device_lost after the loss of the device, else that of Faults::next().
  error_code begin(LoopbackOperation operation) noexcept {
    return lost ? error_code(FabricError::device_lost) : faults.next(operation);
  }
  void enlist(const std::shared_ptr<WindowState>& window);
  std::vector<LoopbackExposure> exposures() const;
  /// The region that has the key of `buffer` and contains its memory; null if there is none.
  const MutableOctets* region_of(const BufferRef& buffer) const noexcept;
  /// As region_of(), but if region_of() finds no region, returns any region that contains the memory of `buffer`,
  /// because the key of `buffer` may come from another fabric. Returns null if no region contains the memory.
  const MutableOctets* region_around(const BufferRef& buffer) const noexcept;
};

}  // namespace rpcrdma::fabric::loopback
