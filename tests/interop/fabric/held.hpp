// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Counts the resources that this process holds in the kernel.
#include <array>
#include <cstddef>
#include <ostream>

namespace rpcrdma::test {

struct Held {
  static constexpr std::array<const char*, 5> kKinds{"qp", "cq", "mr", "pd", "cm_id"};
  std::array<std::size_t, kKinds.size()> resources{};  ///< number of each kind, as in `rdma resource show`
  std::size_t descriptors = 0;                         ///< number of entries of /proc/self/fd
  friend bool operator==(const Held&, const Held&) = default;
};

/// The resources in use now. Needs root, and the program `rdma`.
Held held();
std::ostream& operator<<(std::ostream& out, const Held& held);

}  // namespace rpcrdma::test
