// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// MOUNT version 3 (RFC 1813 section 5): six procedures, no DDP-eligible items. RFC 8267 section 5.1 requires MOUNT over
// TCP; the server of this project serves MOUNT on the RDMA port as well.
#include "rpcrdma/rpc/procedure.hpp"
#include "rpcrdma/xdr/mount3.h"

namespace rpcrdma::rpc::mount3 {

inline constexpr std::uint32_t kProgram = MOUNT3_PROGRAM;
inline constexpr std::uint32_t kVersion = MOUNT3_VERSION;
/// The bytes that a client provides for lists of unknown length (DUMP, EXPORT); no RFC sets this size.
inline constexpr std::uint32_t kMaxList = 256 * 1024;

namespace detail {
template <std::uint32_t N>
struct Fixed {
  template <class Args>
  constexpr ReplyBound operator()(const Args&) const noexcept {
    return {N, {}};
  }
};
template <std::uint32_t N>
inline constexpr Fixed<N> kFixed{};
inline constexpr std::uint32_t kMnt = 24 + 4 + 68 + 4 + 4 * MNT3_MAXFLAVORS;
}  // namespace detail

RPCRDMA_PROCEDURE(Null, (kProgram, kVersion, 0, "NULL", 0, 0, true, AuthRequirement::none), Void, xdr_nothing, Void,
                  xdr_nothing, detail::kFixed<24>);
RPCRDMA_PROCEDURE(Mnt, (kProgram, kVersion, 1, "MNT", 0, 0, true, AuthRequirement::sys), dirpath, xdr_dirpath,
                  mountres3, xdr_mountres3, detail::kFixed<detail::kMnt>);
RPCRDMA_PROCEDURE(Dump, (kProgram, kVersion, 2, "DUMP", 0, 0, true, AuthRequirement::none), Void, xdr_nothing,
                  mount_list, xdr_mount_list, detail::kFixed<kMaxList>);
RPCRDMA_PROCEDURE(Umnt, (kProgram, kVersion, 3, "UMNT", 0, 0, true, AuthRequirement::sys), dirpath, xdr_dirpath, Void,
                  xdr_nothing, detail::kFixed<24>);
RPCRDMA_PROCEDURE(Umntall, (kProgram, kVersion, 4, "UMNTALL", 0, 0, true, AuthRequirement::sys), Void, xdr_nothing,
                  Void, xdr_nothing, detail::kFixed<24>);
RPCRDMA_PROCEDURE(Export, (kProgram, kVersion, 5, "EXPORT", 0, 0, true, AuthRequirement::none), Void, xdr_nothing,
                  export_list, xdr_export_list, detail::kFixed<kMaxList>);

}  // namespace rpcrdma::rpc::mount3
