// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// NFS version 3 (RFC 1813) and its Upper-Layer Binding (RFC 8267 section 4): the 22 procedures.
//
// A reply bound is the largest size that a reply to a call can have. It is the sum of 24 bytes for the reply header and
// the maximum XDR size of the larger arm of the result's union. In this maximum, the data of READ has the requested
// size, and the path of READLINK has kMaxPath bytes. The entries of READDIR and READDIRPLUS have `count` or `maxcount`
// bytes: these limits are for the whole result (RFC 1813), but some servers apply them to the entries only.
#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/nfs3.h"

namespace rpcrdma::rpc::nfs3 {

inline constexpr std::uint32_t kProgram = NFS3_PROGRAM;
inline constexpr std::uint32_t kVersion = NFS3_VERSION;
/// The longest READLINK path for which a client provides memory, in bytes: PATH_MAX. No RFC sets this size.
inline constexpr std::uint32_t kMaxPath = 4096;

namespace detail {
inline constexpr std::uint32_t kPostOp = 88;  // size in bytes of a post_op_attr with attributes

constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b) noexcept {
  return b > UINT32_MAX - 3 - a ? UINT32_MAX - 3 : a + b;
}
template <std::uint32_t N>
struct Fixed {
  template <class Args>
  constexpr ReplyBound operator()(const Args&) const noexcept {
    return {N, {}};
  }
};
template <std::uint32_t N>
inline constexpr Fixed<N> kFixed{};

inline ReplyBound read(const READ3args& args) noexcept { return {128, {pad4(add(0, args.count))}}; }
inline ReplyBound readlink(const READLINK3args&) noexcept { return {120, {kMaxPath}}; }
inline ReplyBound readdir(const READDIR3args& args) noexcept {
  return {pad4(add(24 + 4 + kPostOp + 8 + 8, args.count)), {}};
}
inline ReplyBound readdirplus(const READDIRPLUS3args& args) noexcept {
  return {pad4(add(24 + 4 + kPostOp + 8 + 8, args.maxcount)), {}};
}
}  // namespace detail

// The macro takes the name and the number of the procedure, its name in the .x file, how many of its arguments and how
// many of its results are DDP-eligible, whether it is idempotent, the credential that it needs, and its reply bound.
// WRITE is idempotent: a repeated WRITE writes the same bytes at the same offset. SETATTR and CREATE count as not
// idempotent because some of their forms are not: SETATTR with a guard, CREATE in the mode GUARDED.
#define RPCRDMA_NFS3(NAME, NUMBER, UPPER, IN, OUT, IDEMPOTENT, AUTH, BOUND)                                 \
  RPCRDMA_PROCEDURE(NAME, (kProgram, kVersion, NUMBER, #UPPER, IN, OUT, IDEMPOTENT, AuthRequirement::AUTH), \
                    UPPER##3args, xdr_##UPPER##3args, UPPER##3res, xdr_##UPPER##3res, BOUND)

RPCRDMA_PROCEDURE(Null, (kProgram, kVersion, 0, "NULL", 0, 0, true, AuthRequirement::none), Void, xdr_nothing, Void,
                  xdr_nothing, detail::kFixed<24>);
RPCRDMA_NFS3(Getattr, 1, GETATTR, 0, 0, true, sys, detail::kFixed<112>);
RPCRDMA_NFS3(Setattr, 2, SETATTR, 0, 0, false, sys, detail::kFixed<144>);
RPCRDMA_NFS3(Lookup, 3, LOOKUP, 0, 0, true, sys, detail::kFixed<272>);
RPCRDMA_NFS3(Access, 4, ACCESS, 0, 0, true, sys, detail::kFixed<120>);
RPCRDMA_NFS3(Readlink, 5, READLINK, 0, 1, true, sys, detail::readlink);
RPCRDMA_NFS3(Read, 6, READ, 0, 1, true, sys, detail::read);
RPCRDMA_NFS3(Write, 7, WRITE, 1, 0, true, sys, detail::kFixed<160>);
RPCRDMA_NFS3(Create, 8, CREATE, 0, 0, false, sys, detail::kFixed<304>);
RPCRDMA_NFS3(Mkdir, 9, MKDIR, 0, 0, false, sys, detail::kFixed<304>);
RPCRDMA_NFS3(Symlink, 10, SYMLINK, 1, 0, false, sys, detail::kFixed<304>);
RPCRDMA_NFS3(Mknod, 11, MKNOD, 0, 0, false, sys, detail::kFixed<304>);
RPCRDMA_NFS3(Remove, 12, REMOVE, 0, 0, false, sys, detail::kFixed<144>);
RPCRDMA_NFS3(Rmdir, 13, RMDIR, 0, 0, false, sys, detail::kFixed<144>);
RPCRDMA_NFS3(Rename, 14, RENAME, 0, 0, false, sys, detail::kFixed<260>);
RPCRDMA_NFS3(Link, 15, LINK, 0, 0, false, sys, detail::kFixed<232>);
RPCRDMA_NFS3(Readdir, 16, READDIR, 0, 0, true, sys, detail::readdir);
RPCRDMA_NFS3(Readdirplus, 17, READDIRPLUS, 0, 0, true, sys, detail::readdirplus);
RPCRDMA_NFS3(Fsstat, 18, FSSTAT, 0, 0, true, sys, detail::kFixed<168>);
RPCRDMA_NFS3(Fsinfo, 19, FSINFO, 0, 0, true, none, detail::kFixed<164>);
RPCRDMA_NFS3(Pathconf, 20, PATHCONF, 0, 0, true, none, detail::kFixed<140>);
RPCRDMA_NFS3(Commit, 21, COMMIT, 0, 0, true, sys, detail::kFixed<152>);
#undef RPCRDMA_NFS3

}  // namespace rpcrdma::rpc::nfs3
