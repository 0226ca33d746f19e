// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/copy.hpp"

#include <algorithm>

namespace rpcrdma::nfs {
namespace {

/// The number of buffers for pieces: options.buffers, or as many as fit into half of the pool if that is less, but at
/// least one. The other half is for the connection's own buffers. The pool may be small if locked memory is limited.
std::size_t fitting_buffers(Client& client, const Limits& limits, const CopyOptions& options) {
  const std::size_t piece = std::max({limits.read_size, limits.write_size, 1u});
  return std::clamp<std::size_t>(client.pool().max_octets() / 2 / piece, 1, std::max<std::size_t>(options.buffers, 1));
}

}  // namespace

Copier::Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options)
    : shared_{client, observer, limits, options, Permits(client.executor(), fitting_buffers(client, limits, options))} {
}

}  // namespace rpcrdma::nfs
