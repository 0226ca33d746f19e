// SPDX-License-Identifier: BSD-3-Clause
#include "stream/frame_source.hpp"

namespace rpcrdma::fabric::iwarp {
namespace {

void add_empty_write(FpduWriter& writer) noexcept {
  DdpHeader header;
  header.tagged = true;
  header.opcode = static_cast<std::uint8_t>(Opcode::write);
  writer.begin(header, {}, 0);
  writer.end();
}

}  // namespace

// [5040-6.1-a] every frame carries a segment of an RDMAP message
bool FrameSource::add_frame(FpduWriter& writer) noexcept {
  if (sending_ == Sending::nothing) {
    if (std::exchange(empty_write_due_, false)) {
      add_empty_write(writer);
      return true;
    }
    choose();
  }
  bool last = false;
  switch (sending_) {
    case Sending::nothing: return false;
    case Sending::work: last = sends_.add_frame(writer); break;
    case Sending::response: last = responder_.add_frame(writer); break;
  }
  if (last) sending_ = Sending::nothing;
  return true;
}

void FrameSource::choose() noexcept {
  const bool work = sends_.has_message();
  const bool response = responder_.has_message();
  if (work && !(response && work_was_last_))
    sending_ = Sending::work;
  else if (response)
    sending_ = Sending::response;
  work_was_last_ = sending_ == Sending::work;
}

}  // namespace rpcrdma::fabric::iwarp
