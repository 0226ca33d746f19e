// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "setting.hpp"
#include "subject.hpp"

namespace rpcrdma::bench {

/// The usual RPC program: an rpcgen service on libtirpc over TCP, one call at a time.
std::unique_ptr<Subject> make_tirpc_tcp();
/// The same program with rpcrdma_svc_create() and rpcrdma_clnt_create(), the latter with or without stable_opaques.
std::unique_ptr<Subject> make_tirpc_door(const Setting& setting, bool stable_opaques);

}  // namespace rpcrdma::bench
