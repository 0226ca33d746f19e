// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/rpc/rpcbind.hpp"

namespace rpcrdma::nfsd {

/// What rpcbind is told of a server that listens there: NFS 3 and MOUNT 3 at the first listener of each kind. A
/// listener on [::] serves IPv4 as well, unless there is another for that.
std::vector<rpc::RpcbindEntry> rpcbind_entries(const std::vector<boost::asio::ip::tcp::endpoint>& tcp,
                                               const std::vector<boost::asio::ip::tcp::endpoint>& rdma);

}  // namespace rpcrdma::nfsd
