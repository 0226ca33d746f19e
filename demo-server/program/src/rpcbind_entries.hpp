// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/rpc/rpcbind.hpp"

namespace rpcrdma::nfsd {

/// Returns the entries to register with rpcbind, for NFS version 3 and MOUNT version 3. For each transport (TCP or
/// RDMA) and each address family (IPv4 or IPv6), they name the first listener. If no TCP listener has an IPv4 address,
/// the first TCP listener at [::] is registered for IPv4 as well.
std::vector<rpc::RpcbindEntry> rpcbind_entries(const std::vector<boost::asio::ip::tcp::endpoint>& tcp,
                                               const std::vector<boost::asio::ip::tcp::endpoint>& rdma);

}  // namespace rpcrdma::nfsd
