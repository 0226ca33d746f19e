// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A custom service for tests: some of its calls have more eligible items than those of NFSv3, and some are not
// idempotent.
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/boolean.hpp"
#include "rpcrdma/xdr/bulk.hpp"
#include "rpcrdma/xdr/text.hpp"

namespace rpcrdma::test {

inline constexpr std::uint32_t kServiceProgram = 0x20004d32;

/// TWO: returns two eligible results of the requested lengths, with a word between them and a text after them.
struct TwoArgs {
  u_int first;
  u_int second;
  bool_t reduced_text;
};
struct TwoResult {
  bulk_data first;
  u_int between;
  bulk_data second;
  text_data behind;
};
inline bool_t xdr_two_args(XDR* xdrs, TwoArgs* args) {
  return xdr_u_int(xdrs, &args->first) && xdr_u_int(xdrs, &args->second) && xdr_strict_bool(xdrs, &args->reduced_text);
}
inline bool_t xdr_two_result(XDR* xdrs, TwoResult* result) {
  return xdr_bulk_data(xdrs, &result->first) && xdr_u_int(xdrs, &result->between) &&
         xdr_bulk_data(xdrs, &result->second) && xdr_text_data(xdrs, &result->behind);
}
inline rpc::ReplyBound two_bound(const TwoArgs& args) {
  return {24 + 4 + 4 + 4 + 4 + 64, {pad4(args.first), pad4(args.second)}};
}

/// JOIN: takes two eligible arguments with a word between them; returns the word plus the total length of the
/// arguments, and the sum of their bytes.
struct JoinArgs {
  bulk_data first;
  u_int between;
  bulk_data second;
};
struct JoinResult {
  u_int length;
  u_quad_t sum;
};
inline bool_t xdr_join_args(XDR* xdrs, JoinArgs* args) {
  return xdr_bulk_data(xdrs, &args->first) && xdr_u_int(xdrs, &args->between) && xdr_bulk_data(xdrs, &args->second);
}
inline bool_t xdr_join_result(XDR* xdrs, JoinResult* result) {
  return xdr_u_int(xdrs, &result->length) && xdr_u_quad_t(xdrs, &result->sum);
}
inline rpc::ReplyBound join_bound(const JoinArgs&) { return {24 + 12, {}}; }

/// COUNT: adds to a number that the server keeps. A long ballast makes it a long call.
struct CountArgs {
  u_int add;
  text_data ballast;
};
struct CountResult {
  u_int total;
};
inline bool_t xdr_count_args(XDR* xdrs, CountArgs* args) {
  return xdr_u_int(xdrs, &args->add) && xdr_text_data(xdrs, &args->ballast);
}
inline bool_t xdr_count_result(XDR* xdrs, CountResult* result) { return xdr_u_int(xdrs, &result->total); }
inline rpc::ReplyBound count_bound(const CountArgs&) { return {24 + 4, {}}; }

using rpc::AuthRequirement;
RPCRDMA_PROCEDURE(Two, (kServiceProgram, 1, 1, "TWO", 0, 2, true, AuthRequirement::none), TwoArgs, xdr_two_args,
                  TwoResult, xdr_two_result, two_bound);
RPCRDMA_PROCEDURE(Join, (kServiceProgram, 1, 2, "JOIN", 2, 0, true, AuthRequirement::none), JoinArgs, xdr_join_args,
                  JoinResult, xdr_join_result, join_bound);
RPCRDMA_PROCEDURE(Count, (kServiceProgram, 1, 3, "COUNT", 0, 0, false, AuthRequirement::none), CountArgs,
                  xdr_count_args, CountResult, xdr_count_result, count_bound);
/// STORE: like JOIN, but not idempotent.
RPCRDMA_PROCEDURE(Store, (kServiceProgram, 1, 4, "STORE", 2, 0, false, AuthRequirement::none), JoinArgs, xdr_join_args,
                  JoinResult, xdr_join_result, join_bound);
inline rpc::ReplyBound nothing_bound(const rpc::Void&) { return {24, {}}; }
/// NULL: no arguments and no results. Declared so that a test can call it in the same way as the other procedures.
RPCRDMA_PROCEDURE(Nothing, (kServiceProgram, 1, 0, "NULL", 0, 0, true, AuthRequirement::none), rpc::Void,
                  rpc::xdr_nothing, rpc::Void, rpc::xdr_nothing, nothing_bound);

}  // namespace rpcrdma::test
