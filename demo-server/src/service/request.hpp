// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What every NFS procedure begins with: whose file system is meant, and may this peer do that there.
#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/rpc/server_call.hpp"
#include "service/convert.hpp"

namespace rpcrdma::nfsd {

/// An object named by a file handle.
struct Target {
  const Export* exported = nullptr;
  NodeKey node;

  FileSystem& fs() const noexcept { return *exported->file_system; }
  std::uint64_t fsid() const noexcept { return std::uint64_t{exported->id} << 32 | exported->id; }
};

enum class Effect : std::uint8_t { reads, changes };

inline Status resolve(const ExportTable& exports, const HandleCodec& codec, std::span<const std::byte> handle,
                      const fabric::Endpoint& peer, Effect effect, Target& out) {
  const auto decoded = codec.decode(handle);
  if (!decoded) return Status::badhandle;
  out.exported = exports.find(decoded->export_id);
  out.node = decoded->node;
  if (out.exported == nullptr) return Status::stale;
  if (!out.exported->allows(peer.address())) return Status::acces;
  return effect == Effect::changes && out.exported->read_only ? Status::rofs : Status::ok;
}

/// One call on its way through a file system.
template <rpc::Procedure P>
struct Request {
  const typename P::Args& args;
  const Target& target;
  const Caller& caller;
  const HandleCodec& codec;
  const ExportTable& exports;
  const fabric::Endpoint& peer;

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
