// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "framing/fpdu_writer.hpp"
#include "wire/terminate.hpp"

namespace rpcrdma::fabric::iwarp {

/// Adds a Terminate to `writer`. A Terminate has the first MSN, because it is the only message that a stream sends on
/// the queue for Terminates (RFC 5040 section 5.4).
inline void append(FpduWriter& writer, const Terminate& message) noexcept {
  std::array<std::byte, Terminate::kMaxSize> octets;
  Writer out(octets);
  encode(message, out);
  DdpHeader header;
  header.opcode = static_cast<std::uint8_t>(Opcode::terminate);
  header.queue = kTerminateQueue;
  header.msn = kFirstMsn;
  writer.begin(header, out.written(), 0);
  writer.end();
}

}  // namespace rpcrdma::fabric::iwarp
