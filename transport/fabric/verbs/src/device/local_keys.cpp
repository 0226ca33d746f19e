// SPDX-License-Identifier: BSD-3-Clause
#include "device/local_keys.hpp"

namespace rpcrdma::fabric::verbs {

std::uint32_t LocalKeys::add() {
  if (!free_.empty()) {
    const std::uint32_t key = free_.back();
    free_.pop_back();
    return key;
  }
  free_.reserve(keys_.size());
  keys_.push_back(0);
  return static_cast<std::uint32_t>(keys_.size() - 1);
}

void LocalKeys::remove(std::uint32_t local_key) {
  keys_[local_key] = 0;
  free_.push_back(local_key);
}

}  // namespace rpcrdma::fabric::verbs
