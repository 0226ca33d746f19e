// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <vector>

namespace rpcrdma::fabric::verbs {

/// The fabric's own names of registrations, which its user holds: a device that was removed and came back gives other
/// keys to the same memory.
class LocalKeys {
 public:
  /// A key that is not in use, without a device key yet.
  std::uint32_t add();
  void set(std::uint32_t local_key, std::uint32_t device_key) noexcept { keys_[local_key] = device_key; }
  void remove(std::uint32_t local_key);
  /// The device's key, 0 if there is none.
  std::uint32_t device_key(std::uint32_t local_key) const noexcept {
    return local_key < keys_.size() ? keys_[local_key] : 0;
  }

 private:
  std::vector<std::uint32_t> keys_{0};  // the first is no key
  std::vector<std::uint32_t> free_;
};

}  // namespace rpcrdma::fabric::verbs
