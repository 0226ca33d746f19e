// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What every NFS procedure begins with: whose file system is meant, and may this peer do that there.
#include "convert.hpp"
#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/rpc/server_call.hpp"

namespace rpcrdma::nfsd {

/// An object named by a file handle.
struct Target {
  ExportPtr exported;  // keeps the file system open, whatever becomes of the configuration
  NodeKey node;

  FileSystem& fs() const noexcept { return *exported->file_system; }
  std::uint64_t fsid() const noexcept { return std::uint64_t{exported->id} << 32 | exported->id; }
};

enum class Effect : std::uint8_t { reads, changes };

/// Where a call comes from, as far as exports care.
struct Origin {
  const fabric::Endpoint& peer;
  bool over_tcp;
};

/// What `origin` may do there. RFC 1813 section 2.6 has STALE for a handle whose object is gone or "access to it has
/// been revoked", and every procedure may return it: that is an export that is not, or not any more, for this address.
/// A port that is not reserved is the caller's own fault, and mended by another: ACCES.
inline Status check_export(const Export* exported, const Origin& origin, Effect effect) noexcept {
  if (exported == nullptr || !exported->allows(origin.peer.address())) return Status::stale;
  if (!exported->admits(origin.peer, origin.over_tcp)) return Status::acces;
  return effect == Effect::changes && exported->read_only ? Status::rofs : Status::ok;
}

/// `exports` is an ExportView, or an ExportTable where there is none.
template <class Exports>
Status resolve(Exports& exports, const HandleCodec& codec, std::span<const std::byte> handle, const Origin& origin,
               Effect effect, Target& out) {
  const auto decoded = codec.decode(handle);
  if (!decoded) return Status::badhandle;
  out.exported = exports.find(decoded->export_id);
  out.node = decoded->node;
  return check_export(out.exported.get(), origin, effect);
}

/// One call on its way through a file system.
template <rpc::Procedure P>
struct Request {
  const typename P::Args& args;
  const Target& target;
  const Caller& caller;
  const HandleCodec& codec;
  const ExportTable& exports;
  Origin origin;

  FileSystem& fs() const noexcept { return target.fs(); }
  std::uint64_t fsid() const noexcept { return target.fsid(); }
  FileHandle handle(const NodeKey& node) const { return codec.encode(target.exported->id, node); }
};

/// A result that says `status` and nothing else: no attributes follow.
template <rpc::Procedure P>
typename P::Result failed(Status status) noexcept {
  typename P::Result result{};
  result.status = to_wire(status);
  return result;
}

}  // namespace rpcrdma::nfsd
