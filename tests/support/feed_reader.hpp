// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <cstring>

#include "framing/fpdu_reader.hpp"

namespace rpcrdma::test {

/// Feeds `stream` into the buffers of `reader`, as a socket would. `slice` is called before each read, and returns the
/// greatest number of bytes that it may take; at least one byte is taken.
template <class Slice>
void feed_reader(fabric::iwarp::FpduReader& reader, Octets stream, Slice slice) {
  while (!stream.empty()) {
    std::size_t left = std::min(stream.size(), std::max<std::size_t>(slice(), 1));
    std::size_t filled = 0;
    for (const boost::asio::mutable_buffer& buffer : reader.plan()) {
      const std::size_t n = std::min(left, buffer.size());
      if (n != 0) std::memcpy(buffer.data(), stream.data() + filled, n);
      filled += n;
      left -= n;
    }
    stream = stream.subspan(filled);
    reader.filled(filled);
  }
}

}  // namespace rpcrdma::test
