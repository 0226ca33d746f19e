// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/rpc/rpcbind.hpp"

namespace rpcrdma::nfsd {

/// The entries to register with rpcbind for a server with these listeners: NFS 3 and MOUNT 3 at the first listener of
/// each kind (TCP or RDMA, IPv4 or IPv6). If no TCP listener is an IPv4 one, the first one on [::] is registered for
/// IPv4 as well.
std::vector<rpc::RpcbindEntry> rpcbind_entries(const std::vector<boost::asio::ip::tcp::endpoint>& tcp,
                                               const std::vector<boost::asio::ip::tcp::endpoint>& rdma);

}  // namespace rpcrdma::nfsd
