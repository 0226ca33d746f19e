// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "rpcrdma/base/histogram.hpp"

namespace rpcrdma::transport {

/// A set of the kinds of chunks that the header of a call lists (RFC 8166 section 3.4).
using ChunkKinds = std::uint8_t;
inline constexpr ChunkKinds kPositionZero = 1;  ///< a Position-Zero Read chunk: the call is a long call
inline constexpr ChunkKinds kReadChunk = 2;     ///< a Read chunk at another Position
inline constexpr ChunkKinds kWriteChunk = 4;    ///< a Write chunk
inline constexpr ChunkKinds kReplyChunk = 8;    ///< a Reply chunk

/// The identity of a procedure.
struct ProcedureName {
  std::uint32_t program = 0;  ///< program number
  std::uint32_t version = 0;  ///< program version
  std::uint32_t number = 0;   ///< procedure number
  std::string_view name;      ///< a literal, such as "GETATTR"
};

/// What the transport counts about the calls of one procedure, on the side of the responder or of the requester. Used
/// on one thread; the statistics of several threads may be added.
struct CallStatistics {
  ProcedureName procedure;  ///< set by the layer above
  /// The time of answered calls in nanoseconds: see IncomingCall::measure() and Call::statistics.
  Histogram latency;
  Histogram call_size;                    ///< bytes of call messages, including the bytes in chunks
  std::array<std::uint64_t, 16> kinds{};  ///< number of calls for each set of kinds of chunks; index: ChunkKinds

  /// The number of calls.
  std::uint64_t calls() const noexcept { return call_size.count(); }
  /// The number of calls without chunks. Calls over TCP have no chunks.
  std::uint64_t inline_calls() const noexcept { return kinds[0]; }
  /// The number of calls with a chunk of `kind`, and perhaps chunks of other kinds.
  std::uint64_t calls_with(ChunkKinds kind) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t set = 0; set < kinds.size(); ++set) sum += (set & kind) != 0 ? kinds[set] : 0;
    return sum;
  }
  /// Counts a call that is received or sent.
  void count(std::uint64_t size, ChunkKinds chunks) noexcept {
    call_size.add(size);
    ++kinds[chunks % kinds.size()];
  }
  /// Adds the statistics of another thread for the same procedure.
  CallStatistics& operator+=(const CallStatistics& other) noexcept {
    latency += other.latency;
    call_size += other.call_size;
    for (std::size_t set = 0; set < kinds.size(); ++set) kinds[set] += other.kinds[set];
    return *this;
  }
};

}  // namespace rpcrdma::transport
