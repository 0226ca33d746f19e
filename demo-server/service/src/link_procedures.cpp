// SPDX-License-Identifier: BSD-3-Clause
// READLINK, whose path may travel in a Write chunk, and SYMLINK, whose path may travel in a Read chunk (RFC 8267
// section 4).
#include "new_object.hpp"
#include "procedures.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/nfsd/fs/names.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

READLINK3res result_of(const ReadlinkResult& found, const Target& target) {
  READLINK3res result = failed<nfs3::Readlink>(found.status);
  if (found.status != Status::ok) {
    result.READLINK3res_u.resfail.symlink_attributes = to_wire(found.attributes, target.fsid());
    return result;
  }
  result.READLINK3res_u.resok.symlink_attributes = to_wire(found.attributes, target.fsid());
  return result;
}

}  // namespace

void NfsService::Procedures::readlink(ReadlinkCall call) {
  auto taken = take(call, call.args().symlink, Effect::reads);
  if (!taken) return call.reply(failed<nfs3::Readlink>(taken.error()));
  const Target& target = (*taken)->target;
  const auto work = [](ReadlinkCall& asked, TransferPtr& held, const HandleCodec&) {
    ReadlinkResult found = held->target.fs().read_link(held->target.node);
    READLINK3res result = result_of(found, held->target);
    held->path = std::move(found.target);
    if (found.status == Status::ok) result.READLINK3res_u.resok.data.set_text(held->path);
    asked.reply(result, [transfer = std::move(held)](error_code) {});
  };
  run(target, answering(std::move(call), std::move(*taken), work));
}

void NfsService::Procedures::symlink(SymlinkCall call) {
  const SYMLINK3args& args = call.args();
  const bulk_data& path = args.symlink.symlink_data;
  auto taken = take(call, args.where.dir, Effect::changes);
  if (!taken) return call.reply(failed<nfs3::Symlink>(taken.error()));
  // Checked before the path is fetched: a peer must not make this server hold more than kMaxTarget bytes of it.
  if (path.length > kMaxTarget) return call.reply(failed<nfs3::Symlink>(Status::nametoolong));
  if (path.kind == bulk_kind::octets) return make_symlink(std::move(call), std::move(*taken), path.text());
  rpc::async_reserve(std::move(call), path.length,
                     [this, transfer = std::move(*taken)](error_code status, SymlinkCall resumed) mutable {
                       // This rejection cannot reach the client. It makes the duplicate request cache forget the call,
                       // so that the server executes a retransmission.
                       if (status == transport::TransportError::connection_lost)
                         return resumed.reject(rpc::AcceptStat::system_err);
                       if (status) return resumed.reply(failed<nfs3::Symlink>(Status::jukebox));
                       fetch_symlink(std::move(resumed), std::move(transfer));
                     });
}

void NfsService::Procedures::fetch_symlink(SymlinkCall call, TransferPtr transfer) {
  const bulk_data& path = call.args().symlink.symlink_data;
  auto buffer = call.pool().allocate(path.length);
  if (!buffer) return call.reply(failed<nfs3::Symlink>(Status::jukebox));
  transfer->buffer = std::move(*buffer);
  transfer->parts.push_back(transfer->buffer.ref());
  const std::span<const BufferRef> destination = transfer->parts;
  rpc::async_fetch(std::move(call), path, destination,
                   [this, transfer = std::move(transfer)](error_code status, SymlinkCall fetched) mutable {
                     if (status == Condition::retry) return fetched.reply(failed<nfs3::Symlink>(Status::jukebox));
                     if (status) return fetched.reject(rpc::AcceptStat::system_err);
                     const std::span<std::byte> text = transfer->buffer.octets();
                     const std::string_view target(reinterpret_cast<const char*>(text.data()), text.size());
                     make_symlink(std::move(fetched), std::move(transfer), target);
                   });
}

void NfsService::Procedures::make_symlink(SymlinkCall call, TransferPtr transfer, std::string_view path) {
  const Target& target = transfer->target;
  const Caller& caller = transfer->caller;
  const auto work = [this, path](SymlinkCall& taken, TransferPtr& held, const HandleCodec& codec) {
    const auto asked = request(taken, held->target, held->caller, codec);
    const NodeResult made = asked.fs().make_symlink(asked.caller, asked.target.node, asked.args.where.name.view(), path,
                                                    from_wire(asked.args.symlink.symlink_attributes));
    SYMLINK3res result = failed<nfs3::Symlink>(made.status);
    fill_new(asked, made, result.SYMLINK3res_u.resok, result.SYMLINK3res_u.resfail);
    taken.reply(result, [transfer = std::move(held)](error_code) {});
  };
  run_on_names(target, caller, Effect::changes, answering(std::move(call), std::move(transfer), work));
}

void NfsService::Procedures::add_link_procedures(rpc::Dispatcher& dispatcher) {
  dispatcher.on<nfs3::Readlink>([this](ReadlinkCall call) { readlink(std::move(call)); }, rpc::AuthRequirement::none);
  dispatcher.on<nfs3::Symlink>([this](SymlinkCall call) { symlink(std::move(call)); }, rpc::AuthRequirement::none);
}

}  // namespace rpcrdma::nfsd
