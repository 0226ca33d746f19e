// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The measured service, as clients and servers of this library use it. It has the procedures of the interface file
// bench.x, with DDP-eligible bulk data, and also the procedure Publish.
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/bulk.hpp"

namespace rpcrdma::bench::service {

inline constexpr std::uint32_t kProgram = 0x20004d31;
inline constexpr std::uint32_t kVersion = 1;

struct ReadArgs {
  std::uint32_t count;
};
struct Data {
  bulk_data data;
};

inline bool_t xdr_read_args(XDR* xdrs, ReadArgs* args) { return xdr_u_int(xdrs, &args->count); }
inline bool_t xdr_data(XDR* xdrs, Data* data) { return xdr_bulk_data(xdrs, &data->data); }

inline rpc::ReplyBound header_only(const auto&) { return {24, {}}; }
inline rpc::ReplyBound header_and_data(const ReadArgs& args) { return {28, {(args.count + 3) & ~3u}}; }

RPCRDMA_PROCEDURE(Null, (kProgram, kVersion, 0, "NULL", 0, 0, true, rpc::AuthRequirement::none), rpc::Void,
                  rpc::xdr_nothing, rpc::Void, rpc::xdr_nothing, header_only);
RPCRDMA_PROCEDURE(Read, (kProgram, kVersion, 1, "READ", 0, 1, true, rpc::AuthRequirement::none), ReadArgs,
                  xdr_read_args, Data, xdr_data, header_and_data);
RPCRDMA_PROCEDURE(Write, (kProgram, kVersion, 2, "WRITE", 1, 0, true, rpc::AuthRequirement::none), Data, xdr_data,
                  rpc::Void, rpc::xdr_nothing, header_only);
/// Makes the server update its Board. The interface file bench.x does not contain this procedure.
RPCRDMA_PROCEDURE(Publish, (kProgram, kVersion, 3, "PUBLISH", 0, 0, true, rpc::AuthRequirement::none), rpc::Void,
                  rpc::xdr_nothing, rpc::Void, rpc::xdr_nothing, header_only);

}  // namespace rpcrdma::bench::service
