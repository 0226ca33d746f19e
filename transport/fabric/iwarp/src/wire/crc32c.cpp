// SPDX-License-Identifier: BSD-3-Clause
#include "wire/crc32c.hpp"

#include <isa-l/crc.h>

#include <algorithm>

namespace rpcrdma::fabric::iwarp {

// [5044-4.4-a] CRC32c
void Crc32c::add(Octets octets) noexcept {
  constexpr std::size_t kStep = std::size_t{1} << 30;  // crc32_iscsi() takes the length as an int
  while (!octets.empty()) {
    const Octets part = octets.first(std::min(octets.size(), kStep));
    auto* data =
        const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(part.data()));  // crc32_iscsi() only reads
    state_ = crc32_iscsi(data, static_cast<int>(part.size()), state_);
    octets = octets.subspan(part.size());
  }
}

}  // namespace rpcrdma::fabric::iwarp
