// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "plan.hpp"

namespace rpcrdma::proxy {

/// The bit of a frame that a fault flips, counted from the most significant bit of the first byte; nothing if the frame
/// has no such bit. Bits of the FPDU length are chosen only if the rule names them: with a wrong length, the receiver
/// waits for bytes that never arrive.
std::optional<std::size_t> bit_to_flip(Fault& fault, const Frame& frame);
/// Inverts a bit, which must be within the frame.
void flip_bit(MutableOctets frame, std::size_t bit) noexcept;
/// Lowers the credit value of a call or reply to `grant`. Returns the former value; nothing if it was not above
/// `grant`.
std::optional<std::uint32_t> lower_credits(MutableOctets fpdu, std::uint32_t grant) noexcept;
/// Writes the CRC of an FPDU.
void write_crc(MutableOctets fpdu) noexcept;

}  // namespace rpcrdma::proxy
