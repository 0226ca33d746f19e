// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// The usual RPC program: an rpcgen service on libtirpc over TCP, one call at a time.
std::unique_ptr<Subject> make_tirpc_tcp();
/// The same program over RPC-over-RDMA: rpcrdma_svc_create() makes its server, and rpcrdma_clnt_create() its client.
/// `stable_opaques` sets the client's option of this name.
std::unique_ptr<Subject> make_tirpc_door(const Setting& setting, bool stable_opaques);

}  // namespace rpcrdma::bench
