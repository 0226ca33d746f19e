// SPDX-License-Identifier: BSD-3-Clause
// READLINK, whose path may go into a Write chunk, and SYMLINK, whose path may come in a Read chunk (RFC 8267 section
// 4).
#include "impl.hpp"
#include "new_object.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

READLINK3res readlink(const Request<nfs3::Readlink>& request, std::string& path) {
  ReadlinkResult found = request.fs().read_link(request.target.node);
  READLINK3res result = failed<nfs3::Readlink>(found.status);
  if (found.status != Status::ok) {
    result.READLINK3res_u.resfail.symlink_attributes = to_wire(found.attributes, request.fsid());
    return result;
  }
  path = std::move(found.target);
  READLINK3resok& ok = result.READLINK3res_u.resok;
  ok.symlink_attributes = to_wire(found.attributes, request.fsid());
  ok.data.set_text(path);
  return result;
}

}  // namespace

void NfsService::Impl::symlink(SymlinkCall call) {
  TransferPtr transfer = transfers_.take();
  const SYMLINK3args& args = call.args();
  const bulk_data& path = args.symlink.symlink_data;
  Status s = find(call, args.where.dir, Effect::changes, transfer->target);
  // Checked before anything is fetched: nobody makes this server hold more than a path.
  if (s == Status::ok && path.length > kMaxTarget) s = Status::nametoolong;
  if (s != Status::ok) return call.reply(failed<nfs3::Symlink>(s));
  transfer->caller = caller_of(call.credential(), *transfer->target.exported);
  if (path.kind == bulk_kind::octets) return make_symlink(std::move(call), std::move(transfer), path.text());
  rpc::async_reserve(std::move(call), path.length,
                     [this, transfer = std::move(transfer)](error_code status, SymlinkCall resumed) mutable {
                       // Not run: if the client has sent it again, that call is.
                       if (status == transport::TransportError::connection_lost)
                         return resumed.reject(rpc::AcceptStat::system_err);
                       if (status) return resumed.reply(failed<nfs3::Symlink>(Status::jukebox));
                       fetch_symlink(std::move(resumed), std::move(transfer));
                     });
}

void NfsService::Impl::fetch_symlink(SymlinkCall call, TransferPtr transfer) {
  const bulk_data& path = call.args().symlink.symlink_data;
  auto buffer = call.pool().allocate(path.length);
  if (!buffer) return call.reply(failed<nfs3::Symlink>(Status::jukebox));
  transfer->buffer = std::move(*buffer);
  transfer->parts.push_back(transfer->buffer.ref());
  const std::span<const BufferRef> destination = transfer->parts;
  rpc::async_fetch(std::move(call), path, destination,
                   [this, transfer = std::move(transfer)](error_code status, SymlinkCall fetched) mutable {
                     if (status) return fetched.reject(rpc::AcceptStat::system_err);
                     const std::span<std::byte> text = transfer->buffer.octets();
                     const std::string_view target(reinterpret_cast<const char*>(text.data()), text.size());
                     make_symlink(std::move(fetched), std::move(transfer), target);
                   });
}

void NfsService::Impl::make_symlink(SymlinkCall call, TransferPtr transfer, std::string_view path) {
  const Target& target = transfer->target;
  run(target, [this, call = std::move(call), transfer = std::move(transfer), path](const HandleCodec& codec) mutable {
    const auto asked = request(call, transfer->target, transfer->caller, codec);
    const NodeResult made = asked.fs().make_symlink(asked.caller, asked.target.node, asked.args.where.name.view(), path,
                                                    from_wire(asked.args.symlink.symlink_attributes));
    SYMLINK3res result = failed<nfs3::Symlink>(made.status);
    fill_new(asked, made, result.SYMLINK3res_u.resok, result.SYMLINK3res_u.resfail);
    call.reply(result, [transfer = std::move(transfer)](error_code) {});
  });
}

void NfsService::Impl::add_link_procedures(rpc::Dispatcher& dispatcher) {
  on<nfs3::Readlink, std::string>(
      dispatcher, Effect::reads, [](const auto& args) -> const nfs_fh3& { return args.symlink; }, &readlink);
  dispatcher.on<nfs3::Symlink>([this](SymlinkCall call) { symlink(std::move(call)); }, rpc::AuthRequirement::none);
}

}  // namespace rpcrdma::nfsd
