// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <boost/asio/buffer.hpp>

#include "wire/mpa_startup.hpp"

namespace rpcrdma::fabric::iwarp {

/// A Request or Reply that is being received. The buffer is one byte longer than the longest frame, so that one receive
/// call can take a whole frame and show whether more bytes follow it.
class ArrivingFrame {
 public:
  enum class State : std::uint8_t { incomplete, complete, malformed, followed };

  /// `expected`: the kind of frame that the key must name.
  explicit ArrivingFrame(StartupFrame::Kind expected) noexcept : expected_(expected) {}

  /// The buffer for the next bytes.
  boost::asio::mutable_buffer room() noexcept { return boost::asio::buffer(octets_) + size_; }
  /// To be called when `count` bytes have arrived in room(). Returns `followed` if the frame is complete and more
  /// bytes follow it. In MPA, the peer must not send more bytes until it has received this side's next frame.
  State add(std::size_t count);
  /// Whether the header has arrived: `frame` then holds its values, unless its key is wrong.
  bool has_header() const noexcept { return size_ >= kStartupHeaderSize; }

  StartupFrame frame;  ///< complete in the states `complete` and `followed`

 private:
  StartupFrame::Kind expected_;
  std::size_t size_ = 0;
  std::array<std::byte, kStartupHeaderSize + kMaxPrivateData + 1> octets_;
};

}  // namespace rpcrdma::fabric::iwarp
