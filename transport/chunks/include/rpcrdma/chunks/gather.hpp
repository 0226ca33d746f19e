// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Lists of memory pieces in the order of a stream. Does no I/O.
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>

#include "rpcrdma/base/payload.hpp"

namespace rpcrdma::transport {

using GatherList = boost::container::small_vector<BufferRef, 8>;

/// Appends `part`, merged with the last part if they are adjacent and have the same key. Ignores empty parts.
void append(GatherList& list, BufferRef part);

std::uint64_t total_size(std::span<const BufferRef> parts) noexcept;

/// One flag for each item of a payload. The flag is true if the item is reduced: the stream then does not contain it.
using ItemFlags = boost::container::small_vector<bool, 4>;

/// Appends the stream of `payload` without the items flagged in `reduced`, and without their pads [8166-3.4.4.4-b]. The
/// pads of the other items [8166-3.5.3-e] refer to `zeros`, at least 3 bytes.
void append_stream(GatherList& list, const Payload& payload, const ItemFlags& reduced, BufferRef zeros);

}  // namespace rpcrdma::transport
