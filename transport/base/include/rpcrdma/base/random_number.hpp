// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <cstdlib>

namespace rpcrdma {

/// A number that a peer cannot predict, from the kernel's generator. Any thread may call it. (On x86 std::random_device
/// executes RDRAND, which takes some 10 us in a virtual machine.)
inline std::uint32_t random_number() noexcept { return ::arc4random(); }

}  // namespace rpcrdma
