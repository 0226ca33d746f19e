// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <cstdlib>

namespace rpcrdma {

/// A number from the kernel's generator, which a peer cannot predict. May be called on any thread. (std::random_device
/// is slower: on x86 it executes RDRAND, which takes some 10 us in a virtual machine.)
inline std::uint32_t random_number() noexcept { return ::arc4random(); }

}  // namespace rpcrdma
