// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What a remote procedure is to this library: numbers, types, XDR routines, and its Upper-Layer Binding
// (RFC 8166 section 6): what it may reduce, and how long its reply can be.
#include <rpc/rpc.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "rpcrdma/rpc/auth.hpp"

namespace rpcrdma::rpc {

struct ProcedureInfo {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t number = 0;
  std::string_view name;
  /// DDP-eligible items in the arguments and in the results: how many bulk_data they hold.
  std::uint8_t eligible_arguments = 0;
  std::uint8_t eligible_results = 0;
  /// Running it twice has the effect of running it once; if not, the duplicate request cache guards it.
  bool idempotent = true;
  AuthRequirement auth = AuthRequirement::none;
};

/// DDP-eligible results that a procedure may have; prudence, not RFC.
inline constexpr std::size_t kMaxEligibleResults = 4;

/// The largest reply that a call can have: bytes of the RPC message with its header.
struct ReplyBound {
  std::uint32_t fixed = 0;  ///< without eligible results; their count words are included
  /// Each eligible result, in order, padded: part of the message if it is not reduced.
  std::array<std::uint32_t, kMaxEligibleResults> bulk{};
};

/// No arguments, or no results.
struct Void {};
inline bool_t xdr_nothing(XDR*, Void*) { return TRUE; }

/// A type with static members: kInfo, Args, Result (types of rpcgen's kind: trivial, all zero is empty),
/// xdr_args, xdr_result, max_reply.
template <class P>
concept Procedure = requires(XDR* xdrs, typename P::Args* args, typename P::Result* result) {
  requires P::kInfo.eligible_results <= kMaxEligibleResults;
  { P::kInfo.number } -> std::convertible_to<std::uint32_t>;
  { P::xdr_args(xdrs, args) } -> std::convertible_to<bool_t>;
  { P::xdr_result(xdrs, result) } -> std::convertible_to<bool_t>;
  { P::max_reply(*args) } -> std::same_as<ReplyBound>;
};

/// Declares a Procedure type NAME:
///
///     RPCRDMA_PROCEDURE(Read, (kProgram, kVersion, 6, "READ", 0, 1, true, AuthRequirement::sys),
///                       READ3args, xdr_READ3args, READ3res, xdr_READ3res, bound_read)
///
/// where `bound_read` is a function ReplyBound(const READ3args&).
#define RPCRDMA_PROCEDURE_INFO(...) \
  { __VA_ARGS__ }
#define RPCRDMA_PROCEDURE(NAME, INFO, ARGS, XDR_ARGS, RESULT, XDR_RESULT, BOUND)                           \
  struct NAME {                                                                                            \
    static constexpr ::rpcrdma::rpc::ProcedureInfo kInfo RPCRDMA_PROCEDURE_INFO INFO;                      \
    using Args = ARGS;                                                                                     \
    using Result = RESULT;                                                                                 \
    static bool_t xdr_args(XDR* xdrs, Args* args) { return XDR_ARGS(xdrs, args); }                         \
    static bool_t xdr_result(XDR* xdrs, Result* result) { return XDR_RESULT(xdrs, result); }               \
    static ::rpcrdma::rpc::ReplyBound max_reply([[maybe_unused]] const Args& args) { return BOUND(args); } \
  }

}  // namespace rpcrdma::rpc
