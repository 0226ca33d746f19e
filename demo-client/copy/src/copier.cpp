// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {

Copier::Copier(Client& client, CopyObserver& observer, Limits limits, CopyOptions options)
    : shared_{client, observer, limits, options, Permits(client.executor(), options.buffers)} {}

}  // namespace rpcrdma::nfs
