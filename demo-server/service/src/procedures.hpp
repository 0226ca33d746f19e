// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <new>

#include "bulk_waits.hpp"
#include "request.hpp"
#include "rpcrdma/nfsd/service/nfs_service.hpp"
#include "transfer.hpp"

namespace rpcrdma::nfsd {

/// The NFS procedures of one event loop, which resolves the first file handle of each call. A call on a file system
/// that may block then runs as a job, on an I/O thread or on a thread of LoopThreads, unless the event loop can
/// answer the call from memory. A call on any other file system runs on the event loop.
class NfsService::Procedures {
 public:
  Procedures(const ExportTable& exports, IoPool& io, const HandleSecret& secret, fabric::Fabric& fabric, Log log)
      : exports_(exports), io_(io), codec_(secret), slabs_(fabric), waits_(fabric.context()), log_(std::move(log)) {}

  void use(LoopThreads& threads) { threads_ = &threads; }
  void refresh() { exports_.all(); }
  void add_attribute_procedures(rpc::Dispatcher& dispatcher);
  void add_name_procedures(rpc::Dispatcher& dispatcher);
  void add_link_procedures(rpc::Dispatcher& dispatcher);
  void add_listing_procedures(rpc::Dispatcher& dispatcher);
  void add_read(rpc::Dispatcher& dispatcher);
  void add_write(rpc::Dispatcher& dispatcher);
  std::size_t regions() const noexcept { return slabs_.regions(); }

 private:
  template <rpc::Procedure P>
  using Work = typename P::Result (*)(const Request<P>&);

  /// A function that answers a call on the event loop, although the file system may block. The function itself must not
  /// block. If it cannot answer the call without blocking, it returns nothing, and Work then runs as a job.
  template <rpc::Procedure P>
  using WorkAtOnce = std::optional<typename P::Result> (*)(const Request<P>&);

  template <rpc::Procedure P, class HandleOf>
  void on(rpc::Dispatcher& dispatcher, Effect effect, HandleOf handle_of, Work<P> work,
          WorkAtOnce<P> at_once = nullptr);
  /// Runs `work` on an I/O thread if the file system may block, else at once. `work` is void(const HandleCodec&).
  template <class Work>
  void run(const Target& target, Work work) {
    if (target.fs().blocking())
      io_.submit(std::move(work));
    else
      work(codec_);
  }
  /// As run(), for an operation on names or attributes. If it is usually short, it may run on a thread of LoopThreads.
  template <class Work>
  void run_on_names(const Target& target, const Caller& caller, Effect effect, Work work) {
    const bool waits_for_disk = effect == Effect::changes && target.exported->sync;
    if (threads_ != nullptr && !waits_for_disk && target.fs().names_are_short() &&
        (threads_->any_identity() || target.fs().acts_as_server(caller)))
      threads_->submit(std::move(work));
    else
      run(target, std::move(work));
  }
  /// Makes a job that answers `call` by work(call, transfer, codec). If `work` throws before it answers, the job
  /// answers with NFS3ERR_JUKEBOX if memory ran out in a call other than SYMLINK, and with NFS3ERR_SERVERFAULT
  /// otherwise. This answer also returns `transfer` to the event loop, to which it belongs. Without the answer, the
  /// exception would destroy `transfer` on the I/O thread. The jobs that on() makes need no such answer, because they
  /// have no transfer: if their work throws, the call is answered by SYSTEM_ERR when the job is destroyed.
  template <rpc::Procedure P, class Work>
  static auto answering(rpc::ServerCall<P> call, TransferPtr transfer, Work work) {
    return [call = std::move(call), transfer = std::move(transfer), work](const HandleCodec& codec) mutable {
      Status status = Status::serverfault;
      try {
        return work(call, transfer, codec);
      } catch (const std::bad_alloc&) {
        // The client repeats a call that is answered by NFS3ERR_JUKEBOX. A SYMLINK must not be repeated, because it may
        // have made its link before memory ran out.
        if constexpr (!std::same_as<P, rpc::nfs3::Symlink>) status = Status::jukebox;
      } catch (...) {
      }
      if (call) call.reply(failed<P>(status), [transfer = std::move(transfer)](error_code) {});
    };
  }
  template <rpc::Procedure P>
  boost::system::result<Target, Status> find(const rpc::ServerCall<P>& call, const nfs_fh3& handle, Effect effect) {
    return resolve(exports_, codec_, handle.octets(), Origin{call.peer(), call.over_tcp()}, effect);
  }
  template <rpc::Procedure P>
  Request<P> request(const rpc::ServerCall<P>& call, const Target& target, const Caller& caller,
                     const HandleCodec& codec) const {
    return {call.args(), target, caller, codec, exports_.table(), {call.peer(), call.over_tcp()}};
  }
  /// Finds the object that `handle` identifies, and its export. `call` operates on this object. Takes a Transfer from
  /// transfers_, stores the object and the caller in it, and returns it. Returns the NFS status for the reply if the
  /// handle is invalid or the call may not use the export.
  template <rpc::Procedure P>
  boost::system::result<TransferPtr, Status> take(const rpc::ServerCall<P>& call, const nfs_fh3& handle,
                                                  Effect effect) {
    auto target = find(call, handle, effect);
    if (!target) return target.error();
    TransferPtr out = transfers_.take();
    out->target = std::move(*target);
    out->caller = caller_of(call.credential(), *out->target.exported);
    return out;
  }

  using ReadCall = rpc::ServerCall<rpc::nfs3::Read>;
  using WriteCall = rpc::ServerCall<rpc::nfs3::Write>;
  using ReadlinkCall = rpc::ServerCall<rpc::nfs3::Readlink>;
  using SymlinkCall = rpc::ServerCall<rpc::nfs3::Symlink>;
  void read(ReadCall call);
  void read_file(ReadCall call, TransferPtr transfer, std::uint32_t count);
  void read_to_pipe(ReadCall call, TransferPtr transfer, std::uint32_t count);
  void read_pages(ReadCall call, TransferPtr transfer, PagedData& paged, std::uint32_t count);
  void write(WriteCall call);
  void receive_write(WriteCall call, TransferPtr transfer);
  Status make_room(const WriteCall& call, Transfer& transfer);
  void write_file(WriteCall call, TransferPtr transfer);
  void write_pages(WriteCall call, TransferPtr transfer);
  void readlink(ReadlinkCall call);
  void symlink(SymlinkCall call);
  void fetch_symlink(SymlinkCall call, TransferPtr transfer);
  void make_symlink(SymlinkCall call, TransferPtr transfer, std::string_view path);
  template <rpc::Procedure P>
  void list(rpc::ServerCall<P> call);

  ExportView exports_;
  IoPool& io_;
  LoopThreads* threads_ = nullptr;
  HandleCodec codec_;
  SlabRegistry slabs_;
  BulkWaits waits_;
  Pipes pipes_;
  Transfers transfers_;
  Log log_;
};

template <rpc::Procedure P, class HandleOf>
void NfsService::Procedures::on(rpc::Dispatcher& dispatcher, Effect effect, HandleOf handle_of, Work<P> work,
                                WorkAtOnce<P> at_once) {
  const auto handler = [this, effect, handle_of, work, at_once](rpc::ServerCall<P> call) {
    const auto found = find(call, handle_of(call.args()), effect);
    if (!found) return call.reply(failed<P>(found.error()));
    const Caller caller = caller_of(call.credential(), *found->exported);
    if (!found->fs().blocking()) return call.reply(work(request(call, *found, caller, codec_)));
    if (at_once != nullptr)
      if (const auto result = at_once(request(call, *found, caller, codec_))) return call.reply(*result);
    auto job = [this, call = std::move(call), target = *found, work](const HandleCodec& codec) mutable {
      const Caller acting = caller_of(call.credential(), *target.exported);
      const typename P::Result result = work(request(call, target, acting, codec));
      call.reply(result);
    };
    run_on_names(*found, caller, effect, std::move(job));
  };
  dispatcher.on<P>(handler, rpc::AuthRequirement::none);
}

}  // namespace rpcrdma::nfsd
