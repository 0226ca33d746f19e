// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The RPC program of the simulation. A CallClient calls ONCE, STORE, FETCH and WATCH. The server calls PING in the
// reverse direction. Each call carries a token that no other call has. The bulk data and the ballast of a call are
// computed from its token, so that the receiver can check them.
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/bulk.hpp"
#include "rpcrdma/xdr/text.hpp"

namespace rpcrdma::sim {

inline constexpr std::uint32_t kProgram = 0x2000534d;
inline constexpr std::uint32_t kReplyHeader = 24;

/// The arguments of ONCE, which is not idempotent. The server replies after `hold` milliseconds. A long `ballast` makes
/// the call a long call.
struct OnceArgs {
  u_quad_t token;
  u_int hold;
  text_data ballast;
};
struct TokenResult {
  u_quad_t token;
};
inline bool_t xdr_once_args(XDR* xdrs, OnceArgs* args) {
  return xdr_u_quad_t(xdrs, &args->token) && xdr_u_int(xdrs, &args->hold) && xdr_text_data(xdrs, &args->ballast);
}
inline bool_t xdr_token_result(XDR* xdrs, TokenResult* result) { return xdr_u_quad_t(xdrs, &result->token); }
inline rpc::ReplyBound once_bound(const OnceArgs&) { return {kReplyHeader + 8, {}}; }

/// STORE is not idempotent. Its arguments contain two DDP-eligible items.
struct StoreArgs {
  u_quad_t token;
  bulk_data first;
  u_int between;
  bulk_data second;
};
inline bool_t xdr_store_args(XDR* xdrs, StoreArgs* args) {
  return xdr_u_quad_t(xdrs, &args->token) && xdr_bulk_data(xdrs, &args->first) && xdr_u_int(xdrs, &args->between) &&
         xdr_bulk_data(xdrs, &args->second);
}
inline rpc::ReplyBound store_bound(const StoreArgs&) { return {kReplyHeader + 8, {}}; }

/// FETCH has two eligible results of the requested lengths.
struct FetchArgs {
  u_quad_t token;
  u_int first;
  u_int second;
};
struct FetchResult {
  bulk_data first;
  u_quad_t token;
  bulk_data second;
};
inline bool_t xdr_fetch_args(XDR* xdrs, FetchArgs* args) {
  return xdr_u_quad_t(xdrs, &args->token) && xdr_u_int(xdrs, &args->first) && xdr_u_int(xdrs, &args->second);
}
inline bool_t xdr_fetch_result(XDR* xdrs, FetchResult* result) {
  return xdr_bulk_data(xdrs, &result->first) && xdr_u_quad_t(xdrs, &result->token) &&
         xdr_bulk_data(xdrs, &result->second);
}
inline rpc::ReplyBound fetch_bound(const FetchArgs& args) {
  return {kReplyHeader + 16, {pad4(args.first), pad4(args.second)}};
}

/// WATCH asks the server to make `calls` reverse calls to the client. If `first` is 0, the server replies to WATCH
/// before it makes the reverse calls. Otherwise it replies after they have ended. WATCH is not idempotent.
struct WatchArgs {
  u_quad_t token;
  u_int calls;
  u_int first;
};
inline bool_t xdr_watch_args(XDR* xdrs, WatchArgs* args) {
  return xdr_u_quad_t(xdrs, &args->token) && xdr_u_int(xdrs, &args->calls) && xdr_u_int(xdrs, &args->first);
}
inline rpc::ReplyBound watch_bound(const WatchArgs&) { return {kReplyHeader + 8, {}}; }

using rpc::AuthRequirement;
RPCRDMA_PROCEDURE(Once, (kProgram, 1, 1, "ONCE", 0, 0, false, AuthRequirement::none), OnceArgs, xdr_once_args,
                  TokenResult, xdr_token_result, once_bound);
RPCRDMA_PROCEDURE(Store, (kProgram, 1, 2, "STORE", 2, 0, false, AuthRequirement::none), StoreArgs, xdr_store_args,
                  TokenResult, xdr_token_result, store_bound);
RPCRDMA_PROCEDURE(Fetch, (kProgram, 1, 3, "FETCH", 0, 2, true, AuthRequirement::none), FetchArgs, xdr_fetch_args,
                  FetchResult, xdr_fetch_result, fetch_bound);
RPCRDMA_PROCEDURE(Watch, (kProgram, 1, 4, "WATCH", 0, 0, false, AuthRequirement::none), WatchArgs, xdr_watch_args,
                  TokenResult, xdr_token_result, watch_bound);
/// PING is the reverse call of the server. The client reports a token that arrives twice.
RPCRDMA_PROCEDURE(Ping, (kProgram, 1, 5, "PING", 0, 0, false, AuthRequirement::none), OnceArgs, xdr_once_args,
                  TokenResult, xdr_token_result, once_bound);

}  // namespace rpcrdma::sim
