// SPDX-License-Identifier: BSD-3-Clause
// Operation: READ. A file in memory is sent from its own pages. For a file on a disk the call waits for its share of
// the bulk budget, an I/O thread reads into a buffer, and the reply references the buffer. Over TCP, a long range goes
// from the page cache to the socket through a pipe, without a copy. A short range that is in the page cache is read on
// the loop, because passing the call to a thread and back takes longer.
// Ownership: the Transfer holds the buffer, pages or pipe until the reply has been sent.
// Error handling: a temporary lack of memory is NFS3ERR_JUKEBOX; other errors are those of the file system.
#include "procedures.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace nfs3 = rpc::nfs3;

/// A READ of at most this many bytes from a file on a disk is first tried on the event loop. A longer READ runs on an
/// I/O thread, so that the loop serves other calls meanwhile.
constexpr std::uint32_t kAtOnce = 32768;

/// A shorter READ does not use a pipe.
constexpr std::uint32_t kThroughPipe = 131072;

/// Whether a READ of `count` bytes uses a pipe. A READ with others in progress on its connection does not: without a
/// copy the sender is faster, so that a receiver on the same host, which runs meanwhile, waits for each segment. To
/// wake it each time takes longer than the copy.
bool uses_pipe(const rpc::ServerCall<nfs3::Read>& call, std::uint32_t count) {
  return call.over_tcp() && count >= kThroughPipe && call.statistics().calls_in_progress == 1;
}

READ3res result_of(const ReadResult& got, const Transfer& transfer) {
  const std::uint64_t fsid = transfer.target.fsid();
  READ3res result = failed<nfs3::Read>(got.status);
  if (got.status != Status::ok) {
    result.READ3res_u.resfail.file_attributes = to_wire(got.attributes, fsid);
    return result;
  }
  READ3resok& ok = result.READ3res_u.resok;
  ok.file_attributes = to_wire(got.attributes, fsid);
  ok.count = got.count;
  ok.eof = got.eof ? TRUE : FALSE;
  ok.data.set_parts(transfer.parts);
  return result;
}

void answer(rpc::ServerCall<nfs3::Read> call, TransferPtr transfer, const ReadResult& got) {
  const READ3res result = result_of(got, *transfer);
  call.reply(result, [transfer = std::move(transfer)](error_code) {});
}

/// Replies with the data that has been read into the transfer's buffer.
void answer_read(rpc::ServerCall<nfs3::Read> call, TransferPtr transfer, const ReadResult& got) {
  transfer->parts.clear();
  if (got.count != 0) transfer->parts.push_back(transfer->buffer.first(got.count));
  answer(std::move(call), std::move(transfer), got);
}

/// Replies with the data that is in the transfer's pipe.
void answer_from_pipe(rpc::ServerCall<nfs3::Read> call, TransferPtr transfer, const ReadResult& got) {
  if (got.count != 0) transfer->parts.push_back({.size = got.count});
  answer(std::move(call), std::move(transfer), got);
}

}  // namespace

void NfsService::Procedures::read(ReadCall call) {
  auto taken = take(call, call.args().file, Effect::reads);
  if (!taken) return call.reply(failed<nfs3::Read>(taken.error()));
  const std::uint32_t count = std::min<std::uint32_t>(call.args().count, kMaxTransfer);
  if (PagedData* paged = (*taken)->target.fs().paged(); paged != nullptr)
    return read_pages(std::move(call), std::move(*taken), *paged, count);
  rpc::async_reserve(std::move(call), count,
                     [this, transfer = std::move(*taken), count](error_code status, ReadCall resumed) mutable {
                       if (status) return resumed.reply(failed<nfs3::Read>(Status::jukebox));
                       if (uses_pipe(resumed, count)) transfer->pipe = pipes_.take(resumed.args().offset, count);
                       if (transfer->pipe != nullptr && resumed.transport().send_from(transfer->pipe->out.get()))
                         return read_to_pipe(std::move(resumed), std::move(transfer), count);
                       read_file(std::move(resumed), std::move(transfer), count);
                     });
}

void NfsService::Procedures::read_file(ReadCall call, TransferPtr transfer, std::uint32_t count) {
  if (count != 0) {
    auto buffer = call.pool().allocate(count);
    if (!buffer) return call.reply(failed<nfs3::Read>(Status::jukebox));
    transfer->buffer = std::move(*buffer);
    transfer->parts.push_back(transfer->buffer.ref());
  }
  if (count <= kAtOnce) {
    const Target& target = transfer->target;
    const auto got = target.fs().read_at_once(transfer->caller, target.node, call.args().offset, transfer->parts);
    if (got) return answer_read(std::move(call), std::move(transfer), *got);
  }
  io_.submit(
      answering(std::move(call), std::move(transfer), [](ReadCall& taken, TransferPtr& held, const HandleCodec&) {
        const Target& target = held->target;
        const ReadResult got = target.fs().read(held->caller, target.node, taken.args().offset, held->parts);
        answer_read(std::move(taken), std::move(held), got);
      }));
}

void NfsService::Procedures::read_to_pipe(ReadCall call, TransferPtr transfer, std::uint32_t count) {
  io_.submit(
      answering(std::move(call), std::move(transfer), [count](ReadCall& taken, TransferPtr& held, const HandleCodec&) {
        const Target& target = held->target;
        const std::uint64_t offset = taken.args().offset;
        if (const auto got = target.fs().read_to_pipe(held->caller, target.node, offset, count, held->pipe->in.get()))
          return answer_from_pipe(std::move(taken), std::move(held), *got);
        held->bytes.resize(count);
        const BufferRef into{held->bytes.data(), count};
        const ReadResult got = target.fs().read(held->caller, target.node, offset, {&into, 1});
        if (got.count != 0) held->parts.push_back(into.slice(0, got.count));
        answer(std::move(taken), std::move(held), got);
      }));
}

void NfsService::Procedures::read_pages(ReadCall call, TransferPtr transfer, PagedData& paged, std::uint32_t count) {
  ReadResult got = paged.read_pages(transfer->caller, transfer->target.node, call.args().offset, count, transfer->run);
  if (slabs_.refer(transfer->run, transfer->parts)) {
    transfer->parts.clear();
    got = {Status::jukebox, {}, 0, false};
  }
  answer(std::move(call), std::move(transfer), got);
}

void NfsService::Procedures::add_read(rpc::Dispatcher& dispatcher) {
  dispatcher.on<nfs3::Read>([this](ReadCall call) { read(std::move(call)); }, rpc::AuthRequirement::none);
}

}  // namespace rpcrdma::nfsd
