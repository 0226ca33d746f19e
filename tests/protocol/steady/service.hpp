// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A service with three kinds of calls: no bulk data, bulk results, bulk arguments.
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/bulk.hpp"

namespace rpcrdma::test {

inline constexpr std::uint32_t kSteadyProgram = 0x20004d32;

struct Octets32 {
  std::uint32_t count;
};
struct Bulk {
  bulk_data data;
};

inline bool_t xdr_count(XDR* xdrs, Octets32* args) { return xdr_u_int(xdrs, &args->count); }
inline bool_t xdr_bulk(XDR* xdrs, Bulk* bulk) { return xdr_bulk_data(xdrs, &bulk->data); }
inline rpc::ReplyBound small_reply(const auto&) { return {24, {}}; }
inline rpc::ReplyBound bulk_reply(const Octets32& args) { return {28, {(args.count + 3) & ~3u}}; }

RPCRDMA_PROCEDURE(Null, (kSteadyProgram, 1, 0, "NULL", 0, 0, true, rpc::AuthRequirement::none), rpc::Void,
                  rpc::xdr_nothing, rpc::Void, rpc::xdr_nothing, small_reply);
RPCRDMA_PROCEDURE(Read, (kSteadyProgram, 1, 1, "READ", 0, 1, true, rpc::AuthRequirement::none), Octets32, xdr_count,
                  Bulk, xdr_bulk, bulk_reply);
RPCRDMA_PROCEDURE(Write, (kSteadyProgram, 1, 2, "WRITE", 1, 0, true, rpc::AuthRequirement::none), Bulk, xdr_bulk,
                  rpc::Void, rpc::xdr_nothing, small_reply);

}  // namespace rpcrdma::test
