// SPDX-License-Identifier: BSD-3-Clause
#include "setup/arriving_frame.hpp"

namespace rpcrdma::fabric::iwarp {

ArrivingFrame::State ArrivingFrame::add(std::size_t count) {
  size_ += count;
  if (!has_header()) return State::incomplete;
  const Octets arrived = Octets(octets_).first(size_);
  std::size_t private_length = 0;
  bool enhanced = false;
  if (decode_startup_header(arrived.first(kStartupHeaderSize), expected_, frame, private_length, enhanced) !=
      StartupError::none)
    return State::malformed;
  const std::size_t whole = kStartupHeaderSize + private_length;
  if (size_ < whole) return State::incomplete;
  const Octets data = arrived.subspan(kStartupHeaderSize, private_length);
  if (decode_startup_data(data, enhanced, frame) != StartupError::none) return State::malformed;
  return size_ == whole ? State::complete : State::followed;
}

}  // namespace rpcrdma::fabric::iwarp
