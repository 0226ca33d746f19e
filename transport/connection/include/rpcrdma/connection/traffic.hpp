// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace rpcrdma::transport {

/// What one side of a connection has counted since the connection was made. The counters include forward and reverse
/// calls (RFC 8167): a side counts the calls that it sends and the calls that it receives. operator+= adds up the
/// counters of several connections. The counters of a connection are written and read on its thread.
struct Traffic {
  // Work requests of this side and their bytes. The peer's RDMA Reads and Writes are not counted: they complete no work
  // request of this side.
  std::uint64_t sends = 0;          ///< Sends posted
  std::uint64_t send_bytes = 0;     ///< their bytes, transport headers included
  std::uint64_t receives = 0;       ///< messages received
  std::uint64_t receive_bytes = 0;  ///< their bytes, transport headers included
  std::uint64_t reads = 0;          ///< RDMA Reads posted
  std::uint64_t read_bytes = 0;     ///< their bytes
  std::uint64_t writes = 0;         ///< RDMA Writes posted
  std::uint64_t write_bytes = 0;    ///< their bytes
  // Memory that this side exposes, and invalidation of the peer's memory.
  std::uint64_t windows = 0;                ///< windows bound, or regions registered for one call
  std::uint64_t window_bytes = 0;           ///< bytes that these windows exposed
  std::uint64_t local_invalidations = 0;    ///< windows that this side invalidated
  std::uint64_t remote_invalidations = 0;   ///< windows that the peer invalidated by Send with Invalidate
  std::uint64_t sends_with_invalidate = 0;  ///< Sends of this side that invalidate a handle of the peer
  // Calls by the form of their headers. A call that has several kinds of chunks counts for each kind. A responder
  // counts the chunks that the requester offers.
  std::uint64_t calls = 0;              ///< calls sent by a requester or received by a responder
  std::uint64_t inline_calls = 0;       ///< without chunks
  std::uint64_t long_calls = 0;         ///< with a Position-Zero Read chunk
  std::uint64_t read_chunk_calls = 0;   ///< with another Read chunk
  std::uint64_t write_chunk_calls = 0;  ///< with a Write chunk
  std::uint64_t reply_chunk_calls = 0;  ///< with a Reply chunk
  std::uint64_t long_replies = 0;       ///< replies sent or received in a Reply chunk
  // Errors.
  std::uint64_t version_errors = 0;   ///< RDMA_ERROR with ERR_VERS, sent or received
  std::uint64_t chunk_errors = 0;     ///< RDMA_ERROR with ERR_CHUNK, sent or received
  std::uint64_t other_errors = 0;     ///< RDMA_ERROR with another code, sent or received
  std::uint64_t discarded = 0;        ///< messages dropped without an answer (RFC 8166 section 4.5)
  std::uint64_t retransmissions = 0;  ///< TCP segments sent again by this side (iWARP in userspace)
  // Waits for resources.
  std::uint64_t credit_waits = 0;      ///< calls submitted while the connection had no free credit (requester)
  std::uint64_t memory_waits = 0;      ///< how often calls waited for memory of the pool (requester)
  std::uint64_t send_queue_waits = 0;  ///< how often calls, replies, RDMA Reads or Writes waited for a send queue entry
  std::uint64_t read_depth_waits = 0;  ///< RDMA Reads that waited because the connection's ORD was in use
  std::uint64_t budget_waits = 0;      ///< how often calls waited for bytes of a budget (responder)
  // The sums of the credit values in calls and in replies. If every call has a reply, each sum divided by `calls` is
  // the mean value.
  std::uint64_t credits_asked = 0;    ///< credits that calls have requested
  std::uint64_t credits_granted = 0;  ///< credits that replies have granted

  /// A member and its name.
  struct Field {
    std::string_view name;           ///< such as "budget_waits"
    std::uint64_t Traffic::*member;  ///< the member
  };
  /// All members.
  static constexpr auto fields() noexcept;

  /// Adds each member of `other` to the same member of this object.
  constexpr Traffic& operator+=(const Traffic& other) noexcept;
};

constexpr auto Traffic::fields() noexcept {
  return std::array{Field{"sends", &Traffic::sends},
                    Field{"send_bytes", &Traffic::send_bytes},
                    Field{"receives", &Traffic::receives},
                    Field{"receive_bytes", &Traffic::receive_bytes},
                    Field{"reads", &Traffic::reads},
                    Field{"read_bytes", &Traffic::read_bytes},
                    Field{"writes", &Traffic::writes},
                    Field{"write_bytes", &Traffic::write_bytes},
                    Field{"windows", &Traffic::windows},
                    Field{"window_bytes", &Traffic::window_bytes},
                    Field{"local_invalidations", &Traffic::local_invalidations},
                    Field{"remote_invalidations", &Traffic::remote_invalidations},
                    Field{"sends_with_invalidate", &Traffic::sends_with_invalidate},
                    Field{"calls", &Traffic::calls},
                    Field{"inline_calls", &Traffic::inline_calls},
                    Field{"long_calls", &Traffic::long_calls},
                    Field{"read_chunk_calls", &Traffic::read_chunk_calls},
                    Field{"write_chunk_calls", &Traffic::write_chunk_calls},
                    Field{"reply_chunk_calls", &Traffic::reply_chunk_calls},
                    Field{"long_replies", &Traffic::long_replies},
                    Field{"version_errors", &Traffic::version_errors},
                    Field{"chunk_errors", &Traffic::chunk_errors},
                    Field{"other_errors", &Traffic::other_errors},
                    Field{"discarded", &Traffic::discarded},
                    Field{"retransmissions", &Traffic::retransmissions},
                    Field{"credit_waits", &Traffic::credit_waits},
                    Field{"memory_waits", &Traffic::memory_waits},
                    Field{"send_queue_waits", &Traffic::send_queue_waits},
                    Field{"read_depth_waits", &Traffic::read_depth_waits},
                    Field{"budget_waits", &Traffic::budget_waits},
                    Field{"credits_asked", &Traffic::credits_asked},
                    Field{"credits_granted", &Traffic::credits_granted}};
}
static_assert(Traffic::fields().size() * sizeof(std::uint64_t) == sizeof(Traffic));

constexpr Traffic& Traffic::operator+=(const Traffic& other) noexcept {
  for (const Field& field : fields()) this->*field.member += other.*field.member;
  return *this;
}

}  // namespace rpcrdma::transport
