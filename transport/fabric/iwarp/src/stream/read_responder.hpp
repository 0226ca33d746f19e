// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "framing/fpdu_writer.hpp"
#include "rpcrdma/fabric/ring.hpp"
#include "stream/exposures.hpp"

namespace rpcrdma::fabric::iwarp {

/// Answers the peer's RDMA Reads: queues its Read Requests and makes Read Responses of them, in order [5040-5.5-h].
///
/// Ownership. A Read pins its window from the Request until the Response is written to the socket.
/// Error handling. A Request beyond IRD, or for memory that is not exposed, is refused.
class ReadResponder {
 public:
  explicit ReadResponder(Exposures& exposures) noexcept : exposures_(exposures) {}
  /// To be called when the connection is established. `mulpdu`: the maximum number of bytes of one ULPDU; `depth`: IRD.
  void start(std::uint32_t mulpdu, std::uint32_t depth);

  /// Checks the header of a Read Request that has `payload` bytes of payload. Returns `buffer`, in which the caller
  /// then places the payload, or the error with which the Request is refused.
  Placement place(const DdpHeader& header, std::uint32_t payload, std::byte* buffer) const noexcept;
  /// To be called when the Request is complete. Checks it and queues the Read.
  const TerminateCode* add(const ReadRequest& request) noexcept;
  /// The local memory that the most recent Request reads. To be called only after add() has accepted a Request, and
  /// before written() and flush().
  Octets last_source() noexcept {
    const Read& last = reads_[reads_.tail() - 1];
    return {last.source, last.size};
  }
  bool empty() const noexcept { return reads_.empty(); }

  /// Whether frames of a Response can be made.
  bool has_message() const noexcept { return cursor_ != reads_.tail(); }
  /// Makes the next frame; true if it is the last frame of its Response. Requires has_message().
  bool add_frame(FpduWriter& writer) noexcept;
  /// To be called when all frames made so far have been written to the socket.
  void written() noexcept;
  /// Drops all Reads. To be called when the connection has ended.
  void flush() noexcept;

 private:
  struct Read {
    Exposure* exposure = nullptr;  // null: an empty Read
    const std::byte* source = nullptr;
    std::uint32_t size = 0;
    std::uint32_t sent = 0;
    std::uint32_t sink_stag = 0;
    std::uint64_t sink_offset = 0;
  };
  void pop() noexcept;

  Exposures& exposures_;
  std::uint32_t mulpdu_ = kMinMulpdu;
  std::uint32_t depth_ = 0;
  std::uint32_t expected_msn_ = kFirstMsn;
  Ring<Read> reads_;
  // The position in reads_ of the Read whose Response is being cut into frames. reads_.head() <= cursor_ <=
  // reads_.tail(). All frames of the Responses before cursor_ have been made, but may not have been written yet.
  std::uint64_t cursor_ = 0;
};

}  // namespace rpcrdma::fabric::iwarp
