// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Describes a remote procedure: numbers, types, XDR routines, and its Upper-Layer Binding (RFC 8166 section 6): the
// items that may be reduced, and the largest reply.
#include <rpc/rpc.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "rpcrdma/rpc/auth.hpp"

namespace rpcrdma::rpc {

/// The constants of a procedure.
struct ProcedureInfo {
  std::uint32_t program = 0;  ///< program number
  std::uint32_t version = 0;  ///< program version
  std::uint32_t number = 0;   ///< procedure number
  std::string_view name;      ///< the name in log lines and error messages
  /// The number of DDP-eligible items (bulk_data) in the arguments.
  std::uint8_t eligible_arguments = 0;
  std::uint8_t eligible_results = 0;  ///< DDP-eligible items in the results; at most kMaxEligibleResults
  /// If false, the duplicate request cache prevents a resent call from being run again.
  bool idempotent = true;
  AuthRequirement auth = AuthRequirement::none;  ///< checked before the handler runs
};

/// The most DDP-eligible results that a procedure may have; no RFC sets this limit.
inline constexpr std::size_t kMaxEligibleResults = 4;

/// The largest reply that a call can have: bytes of the RPC message with its header.
struct ReplyBound {
  std::uint32_t fixed = 0;  ///< bytes of the message without the eligible results, but with their count words
  /// The padded size of each eligible result, in order. If a result is not reduced, its size is added to `fixed`.
  std::array<std::uint32_t, kMaxEligibleResults> bulk{};
};

/// Returns the smaller of `size` and the size of the largest possible message. For max_reply() of generated procedures,
/// which computes in 64 bits.
constexpr std::uint32_t saturated(std::uint64_t size) noexcept {
  return size > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(size);
}
/// The size of an opaque of `size` bytes with its pad.
constexpr std::uint64_t padded(std::uint64_t size) noexcept { return (size + 3) & ~std::uint64_t{3}; }
/// The bound that a count in the arguments sets for a part of the reply. It is 0 if the count is negative, and at most
/// the size of the largest message.
template <std::integral T>
constexpr std::uint64_t bound_of(T value) noexcept {
  return value < T{} ? 0 : saturated(static_cast<std::uint64_t>(value));
}

/// The error that a result carries: its member `status`, or `fhs_status` as in MOUNT (RFC 1813 section 5.2.1). 0 if it
/// has neither.
template <class Result>
std::uint32_t status_of(const Result& result) noexcept {
  if constexpr (requires { static_cast<std::uint32_t>(result.status); })
    return static_cast<std::uint32_t>(result.status);
  else if constexpr (requires { static_cast<std::uint32_t>(result.fhs_status); })
    return static_cast<std::uint32_t>(result.fhs_status);
  else
    return 0;
}

/// No arguments, or no results.
struct Void {};
/// The XDR routine of Void: no bytes.
inline bool_t xdr_nothing(XDR*, Void*) { return TRUE; }

/// A type with the static members kInfo, xdr_args, xdr_result and max_reply, and the types Args and Result, which
/// rpcgen generates. Both types are trivial, and a value of all zeros is empty.
template <class P>
concept Procedure = requires(XDR* xdrs, typename P::Args* args, typename P::Result* result) {
  requires P::kInfo.eligible_results <= kMaxEligibleResults;
  { P::kInfo.number } -> std::convertible_to<std::uint32_t>;
  { P::xdr_args(xdrs, args) } -> std::convertible_to<bool_t>;
  { P::xdr_result(xdrs, result) } -> std::convertible_to<bool_t>;
  { P::max_reply(*args) } -> std::same_as<ReplyBound>;
};

/// Part of RPCRDMA_PROCEDURE.
#define RPCRDMA_PROCEDURE_INFO(...) \
  { __VA_ARGS__ }
/// Declares a Procedure type NAME:
///
///     RPCRDMA_PROCEDURE(Read, (kProgram, kVersion, 6, "READ", 0, 1, true, AuthRequirement::sys),
///                       READ3args, xdr_READ3args, READ3res, xdr_READ3res, bound_read)
///
/// where `bound_read` is a function ReplyBound(const READ3args&).
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
