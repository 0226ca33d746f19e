// SPDX-License-Identifier: BSD-3-Clause
// Operation: WRITE. Data in the message is written from the message or, in a memory export, copied to new pages. For
// data in a Read chunk the call waits for its share of the bulk budget, allocates a destination, and pulls the data by
// RDMA Read. The destination is a buffer from which an I/O thread writes or, in a memory export, new pages that become
// part of the file.
// Ownership: the Transfer holds the destination until the write has ended. The file does not change before all data has
// arrived, and no lock is held meanwhile.
// Error handling: a temporary lack of memory is NFS3ERR_JUKEBOX; a Read chunk that cannot be read is SYSTEM_ERR.
#include "procedures.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

WRITE3res result_of(const WriteResult& done, const Verifier& verifier, const Target& target, stable_how asked) {
  WRITE3res result = failed<nfs3::Write>(done.status);
  WRITE3resok& ok = result.WRITE3res_u.resok;
  ok.file_wcc = to_wire(done.wcc, target.fsid());
  if (done.status != Status::ok) return result;
  ok.count = done.count;
  // RFC 1813 section 3.3.7 requires that `committed` is at least the stability that the client requested. The reply for
  // an asynchronous export states the requested stability, although the data may not be on the disk yet.
  ok.committed = target.exported->sync ? static_cast<stable_how>(done.committed) : asked;
  std::memcpy(ok.verf, verifier.data(), verifier.size());
  return result;
}

/// Returns the stability that the service requests of the file system. For an asynchronous export this is UNSTABLE,
/// whatever the client requests, so that the WRITE does not wait for the disk.
Stable stable_of(const WRITE3args& args, const Target& target) noexcept {
  return target.exported->sync ? static_cast<Stable>(args.stable) : Stable::unstable;
}

Status check(const WRITE3args& args) noexcept {
  const bool known = args.stable == UNSTABLE || args.stable == DATA_SYNC || args.stable == FILE_SYNC;
  // RFC 1813 has no rule for a count that differs from the length of the data: refuse it.
  return known && args.count == args.data.length && args.count <= kMaxTransfer ? Status::ok : Status::inval;
}

/// Copies data from the message to its destination.
void copy_to(std::span<const std::byte> from, std::span<const BufferRef> to) noexcept {
  for (const BufferRef& part : to) {
    std::memcpy(part.data, from.data(), part.size);
    from = from.subspan(part.size);
  }
}

}  // namespace

void NfsService::Procedures::write(WriteCall call) {
  const WRITE3args& args = call.args();
  auto taken = take(call, args.file, Effect::changes);
  if (!taken) return call.reply(failed<nfs3::Write>(taken.error()));
  if (const Status s = check(args); s != Status::ok) return call.reply(failed<nfs3::Write>(s));
  TransferPtr transfer = std::move(*taken);
  if (args.data.kind != bulk_kind::octets) {
    return rpc::async_reserve(std::move(call), args.data.length,
                              [this, transfer = std::move(transfer)](error_code status, WriteCall resumed) mutable {
                                if (status) return resumed.reply(failed<nfs3::Write>(Status::jukebox));
                                receive_write(std::move(resumed), std::move(transfer));
                              });
  }
  const std::span<const std::byte> octets = args.data.octet_span();
  if (transfer->target.fs().paged() != nullptr) {
    if (const Status s = make_room(call, *transfer); s != Status::ok) return call.reply(failed<nfs3::Write>(s));
    copy_to(octets, transfer->parts);
    return write_pages(std::move(call), std::move(transfer));
  }
  // pwritev() only reads the data, but takes no pointer to const.
  auto* data = const_cast<std::byte*>(octets.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  if (!octets.empty()) transfer->parts.push_back({data, static_cast<std::uint32_t>(octets.size()), 0});
  write_file(std::move(call), std::move(transfer));
}

/// Allocates the destination of the data.
Status NfsService::Procedures::make_room(const WriteCall& call, Transfer& transfer) {
  const WRITE3args& args = call.args();
  if (PagedData* paged = transfer.target.fs().paged(); paged != nullptr) {
    const Status s = paged->prepare_write(transfer.caller, transfer.target.node, args.offset, args.count, transfer.run);
    if (s != Status::ok) return s;
    return slabs_.refer(transfer.run, transfer.parts) ? Status::jukebox : Status::ok;
  }
  auto buffer = call.pool().allocate(args.count);
  if (!buffer) return Status::jukebox;
  transfer.buffer = std::move(*buffer);
  transfer.parts.push_back(transfer.buffer.ref());
  return Status::ok;
}

void NfsService::Procedures::receive_write(WriteCall call, TransferPtr transfer) {
  if (const Status s = make_room(call, *transfer); s != Status::ok) return call.reply(failed<nfs3::Write>(s));
  const bulk_data& data = call.args().data;
  const std::span<const BufferRef> destination = transfer->parts;
  rpc::async_fetch(std::move(call), data, destination,
                   [this, transfer = std::move(transfer)](error_code status, WriteCall fetched) mutable {
                     if (status == Condition::retry) return fetched.reply(failed<nfs3::Write>(Status::jukebox));
                     if (status) return fetched.reject(rpc::AcceptStat::system_err);
                     if (transfer->target.fs().paged() != nullptr)
                       write_pages(std::move(fetched), std::move(transfer));
                     else
                       write_file(std::move(fetched), std::move(transfer));
                   });
}

void NfsService::Procedures::write_file(WriteCall call, TransferPtr transfer) {
  io_.submit(
      answering(std::move(call), std::move(transfer), [](WriteCall& taken, TransferPtr& held, const HandleCodec&) {
        const Target& target = held->target;
        const WRITE3args& args = taken.args();
        // Reads the verifier before the write, not after it. If the server loses the data afterwards, the verifier has
        // changed, and the client notices that the reply to COMMIT has another verifier than the reply to WRITE.
        const Verifier verifier = target.fs().write_verifier();
        const WriteResult done =
            target.fs().write(held->caller, target.node, args.offset, held->parts, stable_of(args, target));
        const WRITE3res result = result_of(done, verifier, target, args.stable);
        taken.reply(result, [transfer = std::move(held)](error_code) {});
      }));
}

void NfsService::Procedures::write_pages(WriteCall call, TransferPtr transfer) {
  const Target& target = transfer->target;
  const WRITE3args& args = call.args();
  const WriteResult done =
      target.fs().paged()->commit_write(target.node, args.offset, transfer->run, stable_of(args, target));
  call.reply(result_of(done, target.fs().write_verifier(), target, args.stable));
}

void NfsService::Procedures::add_write(rpc::Dispatcher& dispatcher) {
  dispatcher.on<nfs3::Write>([this](WriteCall call) { write(std::move(call)); }, rpc::AuthRequirement::none);
}

}  // namespace rpcrdma::nfsd
