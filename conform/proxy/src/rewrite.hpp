// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "plan.hpp"

namespace rpcrdma::proxy {

/// Returns the number of the bit of `frame` that `fault` flips, or nothing if the frame has no such bit. Bit 0 is the
/// most significant bit of the first byte. If the rule does not name a bit, a random bit of its field is chosen. No
/// field contains the FPDU length, because a receiver that gets a wrong length may wait for bytes that never arrive.
std::optional<std::size_t> bit_to_flip(Fault& fault, const Frame& frame);
/// Inverts a bit, which must be within the frame.
void flip_bit(MutableOctets frame, std::size_t bit) noexcept;
/// Lowers the credit value of a call or reply to `grant`. Returns the former value. If the former value is not above
/// `grant`, or if `fpdu` is too short to contain a credit value, changes nothing and returns nothing.
std::optional<std::uint32_t> lower_credits(MutableOctets fpdu, std::uint32_t grant) noexcept;
/// Computes the CRC of `fpdu`, and writes it to the last four bytes.
void write_crc(MutableOctets fpdu) noexcept;

}  // namespace rpcrdma::proxy
