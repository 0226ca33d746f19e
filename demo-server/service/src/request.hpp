// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The first step of every NFS procedure except NULL: finds the file system, and checks the peer's access to it.
#include "convert.hpp"
#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/rpc/server_call.hpp"

namespace rpcrdma::nfsd {

/// An object named by a file handle.
struct Target {
  ExportPtr exported;  // keeps the file system open if the configuration changes
  NodeKey node;

  FileSystem& fs() const noexcept { return *exported->file_system; }
  std::uint64_t fsid() const noexcept { return std::uint64_t{exported->id} << 32 | exported->id; }
};

enum class Effect : std::uint8_t { reads, changes };

/// The origin of a call, which decides whether an export admits it.
struct Origin {
  const fabric::Endpoint& peer;
  bool over_tcp;
};

/// Checks that `origin` may use the export with `effect`. Returns STALE if there is no such export or if it does not
/// admit the address of `origin`: this is the status for access that has been revoked (RFC 1813, section 2.6), and
/// every procedure may return it. Returns ACCES if the export has reserved_ports and the TCP port of `origin` is not
/// reserved: the caller can use another port. Returns ROFS for a change of a read-only export.
inline Status check_export(const Export* exported, const Origin& origin, Effect effect) noexcept {
  if (exported == nullptr || !exported->allows(origin.peer.address())) return Status::stale;
  if (!exported->admits(origin.peer, origin.over_tcp)) return Status::acces;
  return effect == Effect::changes && exported->read_only ? Status::rofs : Status::ok;
}

/// The object that `handle` names, if `origin` may reach it. `exports` is an ExportView or, on threads without one, an
/// ExportTable.
template <class Exports>
boost::system::result<Target, Status> resolve(Exports& exports, const HandleCodec& codec,
                                              std::span<const std::byte> handle, const Origin& origin, Effect effect) {
  const auto decoded = codec.decode(handle);
  if (!decoded) return Status::badhandle;
  Target target{exports.find(decoded->export_id), decoded->node};
  if (const Status s = check_export(target.exported.get(), origin, effect); s != Status::ok) return s;
  return target;
}

/// One call with the objects that its procedure needs.
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

/// A result that holds only `status`: no attributes follow.
template <rpc::Procedure P>
typename P::Result failed(Status status) noexcept {
  typename P::Result result{};
  result.status = to_wire(status);
  return result;
}

}  // namespace rpcrdma::nfsd
