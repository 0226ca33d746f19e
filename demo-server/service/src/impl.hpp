// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "request.hpp"
#include "rpcrdma/nfsd/service/nfs_service.hpp"
#include "transfer.hpp"

namespace rpcrdma::nfsd {

/// The part of the service that knows threads: handles are resolved on the loop; what may block runs on the I/O
/// threads, and the rest at once.
class NfsService::Impl {
 public:
  Impl(const ExportTable& exports, IoPool& io, const HandleSecret& secret, fabric::Fabric& fabric, Log log)
      : exports_(exports), io_(io), codec_(secret), slabs_(fabric), log_(std::move(log)) {}

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
  /// With memory of its own that the result points at, kept until the reply has been sent. Over TCP room is awaited
  /// first for what Scratch::octets_for() tells of the arguments.
  template <rpc::Procedure P, class Scratch>
  using ScratchWork = typename P::Result (*)(const Request<P>&, Scratch&);

  template <rpc::Procedure P, class HandleOf>
  void on(rpc::Dispatcher& dispatcher, Effect effect, HandleOf handle_of, Work<P> work);
  template <rpc::Procedure P, class Scratch, class HandleOf>
  void on(rpc::Dispatcher& dispatcher, Effect effect, HandleOf handle_of, ScratchWork<P, Scratch> work);
  template <rpc::Procedure P, class Scratch>
  void run_with_scratch(rpc::ServerCall<P> call, const Target& target, ScratchWork<P, Scratch> work);
  /// Runs `job` where the file system's calls belong. `job` is void(const HandleCodec&).
  template <class Job>
  void run(const Target& target, Job job) {
    if (target.fs().blocking())
      io_.submit(std::move(job));
    else
      job(codec_);
  }
  template <rpc::Procedure P>
  Status find(const rpc::ServerCall<P>& call, const nfs_fh3& handle, Effect effect, Target& out) {
    return resolve(exports_, codec_, handle.octets(), Origin{call.peer(), call.over_tcp()}, effect, out);
  }
  template <rpc::Procedure P>
  Request<P> request(const rpc::ServerCall<P>& call, const Target& target, const Caller& caller,
                     const HandleCodec& codec) const {
    return {call.args(), target, caller, codec, exports_.table(), {call.peer(), call.over_tcp()}};
  }

  using ReadCall = rpc::ServerCall<rpc::nfs3::Read>;
  using WriteCall = rpc::ServerCall<rpc::nfs3::Write>;
  using SymlinkCall = rpc::ServerCall<rpc::nfs3::Symlink>;
  void read(ReadCall call);
  void read_file(ReadCall call, TransferPtr transfer, std::uint32_t count);
  void read_pages(ReadCall call, TransferPtr transfer, PagedData& paged, std::uint32_t count);
  void write(WriteCall call);
  void receive_write(WriteCall call, TransferPtr transfer);
  Status make_room(const WriteCall& call, Transfer& transfer);
  void write_file(WriteCall call, TransferPtr transfer);
  void write_pages(WriteCall call, TransferPtr transfer);
  void symlink(SymlinkCall call);
  void fetch_symlink(SymlinkCall call, TransferPtr transfer);
  void make_symlink(SymlinkCall call, TransferPtr transfer, std::string_view path);

  ExportView exports_;
  IoPool& io_;
  HandleCodec codec_;
  SlabRegistry slabs_;
  Transfers transfers_;
  Log log_;
};

template <rpc::Procedure P, class HandleOf>
void NfsService::Impl::on(rpc::Dispatcher& dispatcher, Effect effect, HandleOf handle_of, Work<P> work) {
  const auto handler = [this, effect, handle_of, work](rpc::ServerCall<P> call) {
    Target target;
    if (const Status s = find(call, handle_of(call.args()), effect, target); s != Status::ok)
      return call.reply(failed<P>(s));
    run(target, [this, call = std::move(call), target, work](const HandleCodec& codec) mutable {
      const Caller caller = caller_of(call.credential(), *target.exported);
      const typename P::Result result = work(request(call, target, caller, codec));
      call.reply(result);
    });
  };
  dispatcher.on<P>(handler, rpc::AuthRequirement::none);
}

template <rpc::Procedure P, class Scratch, class HandleOf>
void NfsService::Impl::on(rpc::Dispatcher& dispatcher, Effect effect, HandleOf handle_of,
                          ScratchWork<P, Scratch> work) {
  const auto handler = [this, effect, handle_of, work](rpc::ServerCall<P> call) {
    Target target;
    if (const Status s = find(call, handle_of(call.args()), effect, target); s != Status::ok)
      return call.reply(failed<P>(s));
    if constexpr (requires { Scratch::octets_for(call.args()); }) {
      // Over RDMA the reply is in the pool, and the credits bound it.
      if (call.over_tcp()) {
        const std::uint32_t octets = Scratch::octets_for(call.args());
        return rpc::async_reserve(std::move(call), octets,
                                  [this, target, work](error_code status, rpc::ServerCall<P> resumed) {
                                    if (status) return resumed.reply(failed<P>(Status::jukebox));
                                    run_with_scratch(std::move(resumed), target, work);
                                  });
      }
    }
    run_with_scratch(std::move(call), target, work);
  };
  dispatcher.on<P>(handler, rpc::AuthRequirement::none);
}

template <rpc::Procedure P, class Scratch>
void NfsService::Impl::run_with_scratch(rpc::ServerCall<P> call, const Target& target, ScratchWork<P, Scratch> work) {
  run(target, [this, call = std::move(call), target, work](const HandleCodec& codec) mutable {
    const Caller caller = caller_of(call.credential(), *target.exported);
    auto scratch = std::make_unique<Scratch>();
    const typename P::Result result = work(request(call, target, caller, codec), *scratch);
    call.reply(result, [scratch = std::move(scratch)](error_code) {});
  });
}

}  // namespace rpcrdma::nfsd
