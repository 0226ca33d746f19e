// SPDX-License-Identifier: BSD-3-Clause
#include "stream/read_responder.hpp"

#include <algorithm>

namespace rpcrdma::fabric::iwarp {

void ReadResponder::start(std::uint32_t mulpdu, std::uint32_t depth) {
  mulpdu_ = mulpdu;
  depth_ = depth;
  // `depth` limits only the Reads whose Response still lacks frames. A Read keeps its slot in the ring until its
  // Response has been written to the socket, and a batch of kMaxFrames frames can complete as many Responses.
  reads_.reserve(depth + FpduWriter::kMaxFrames);
}

// [5041-7.1-a] checks the header before anything is placed
Placement ReadResponder::place(const DdpHeader& header, std::uint32_t payload, std::byte* buffer) const noexcept {
  if (header.msn != expected_msn_) return refused(terminate::kMsn);
  // [5040-6.1-c] [5040-5.2.2-b] refuses more than IRD outstanding Requests
  if (reads_.tail() - cursor_ >= depth_) return refused(terminate::kNoBuffer);
  if (header.offset != 0) return refused(terminate::kMessageOffset);
  if (payload > ReadRequest::kSize || !header.last) return refused(terminate::kTooLong);
  if (payload < ReadRequest::kSize) return refused(terminate::kUnspecifiedOperation);
  return {buffer};
}

const TerminateCode* ReadResponder::add(const ReadRequest& request) noexcept {
  expected_msn_ = next_msn(expected_msn_);
  Exposure* exposure = nullptr;
  if (request.size != 0)  // [5040-5.2.1-e] the source of an empty Read is not checked
    if (const TerminateCode* error = exposures_.find_source(request, exposure)) return error;
  // [5040-5.2.1-b] [5040-5.2.1-c] queues the Read: each Request is answered, in order
  Read& read = reads_.push();
  read = {};
  read.exposure = exposure;
  read.size = request.size;
  read.sink_stag = request.sink_stag;
  read.sink_offset = request.sink_offset;
  if (exposure == nullptr) return nullptr;
  ++exposure->pins;
  read.source = exposure->memory.data + (request.source_offset - exposure->segment.offset);
  return nullptr;
}

// [5040-5.2.2-a] [5040-4.4-b] a Response is tagged, and names the sink of its Request
bool ReadResponder::add_frame(FpduWriter& writer) noexcept {
  Read& read = reads_[cursor_];
  const std::uint32_t count = std::min(read.size - read.sent, mulpdu_ - static_cast<std::uint32_t>(kTaggedHeaderSize));
  DdpHeader header;
  header.tagged = true;
  header.opcode = static_cast<std::uint8_t>(Opcode::read_response);
  header.last = read.sent + count == read.size;
  header.stag = read.sink_stag;
  header.offset = read.sink_offset + read.sent;
  writer.begin(header, {}, count);
  writer.payload({read.source + read.sent, count});
  writer.end();
  read.sent += count;
  if (header.last) ++cursor_;
  return header.last;
}

void ReadResponder::written() noexcept {
  while (reads_.head() != cursor_) pop();
}

void ReadResponder::flush() noexcept {
  while (!reads_.empty()) pop();
  cursor_ = reads_.tail();
}

void ReadResponder::pop() noexcept {
  if (Exposure* const exposure = reads_.front().exposure; exposure != nullptr) --exposure->pins;
  reads_.pop();
}

}  // namespace rpcrdma::fabric::iwarp
