// SPDX-License-Identifier: BSD-3-Clause
#include "rpcbind_entries.hpp"

#include <algorithm>

#include "rpcrdma/rpc/mount3.hpp"
#include "rpcrdma/rpc/nfs3.hpp"

namespace rpcrdma::nfsd {
namespace {

using Endpoint = boost::asio::ip::tcp::endpoint;

void add(const std::string& netid, const Endpoint& endpoint, std::vector<rpc::RpcbindEntry>& out) {
  for (const rpc::ProcedureInfo& program : {rpc::nfs3::Null::kInfo, rpc::mount3::Null::kInfo})
    out.push_back({program.program, program.version, netid, rpc::universal_address(endpoint)});
}

/// `both`: an IPv6 listener serves IPv4 as well if no IPv4 listener exists.
void add_all(const std::string& netid, const std::vector<Endpoint>& listeners, bool both,
             std::vector<rpc::RpcbindEntry>& out) {
  const auto first = [&](bool v6) {
    return std::find_if(listeners.begin(), listeners.end(),
                        [v6](const Endpoint& e) { return e.address().is_v6() == v6; });
  };
  const auto v4 = first(false);
  const auto v6 = first(true);
  if (v4 != listeners.end()) add(netid, *v4, out);
  if (v6 == listeners.end()) return;
  if (both && v4 == listeners.end() && v6->address().is_unspecified())
    add(netid, {boost::asio::ip::address_v4::any(), v6->port()}, out);
  add(netid + "6", *v6, out);
}

}  // namespace

// [8267-4.2-a]
std::vector<rpc::RpcbindEntry> rpcbind_entries(const std::vector<Endpoint>& tcp, const std::vector<Endpoint>& rdma) {
  std::vector<rpc::RpcbindEntry> entries;
  add_all("tcp", tcp, true, entries);
  add_all("rdma", rdma, false, entries);  // [8166-9-a] rdma, rdma6
  return entries;
}

}  // namespace rpcrdma::nfsd
