// SPDX-License-Identifier: BSD-3-Clause
#include "rpcbind_entries.hpp"

#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace rpcrdma::nfsd {

// [8267-4.2-a] an NFSv3 server registers its port with rpcbind
std::vector<rpc::RpcbindEntry> rpcbind_entries(const std::vector<boost::asio::ip::tcp::endpoint>& tcp,
                                               const std::vector<boost::asio::ip::tcp::endpoint>& rdma) {
  return rpc::rpcbind_entries(
      {{rpc::nfs3::kProgram, rpc::nfs3::kVersion}, {rpc::mount3::kProgram, rpc::mount3::kVersion}}, tcp, rdma);
}

}  // namespace rpcrdma::nfsd
