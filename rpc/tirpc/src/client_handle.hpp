// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <rpc/rpc.h>

#include <memory>
#include <mutex>
#include <vector>

#include "client_link.hpp"
#include "outgoing_call.hpp"
#include "rpcrdma/tirpc.h"

namespace rpcrdma::tirpc {

/// The implementation of a CLIENT. May be used on any thread: each operation except destroy() holds the lock from start
/// to end.
class ClientHandle {
 public:
  ClientHandle(std::unique_ptr<ClientLink> link, const fabric::Endpoint& server, rpcprog_t program, rpcvers_t version,
               const rpcrdma_clnt_options& options);

  CLIENT* client() noexcept { return &client_; }

  clnt_stat call(rpcproc_t procedure, xdrproc_t encode, void* args, xdrproc_t decode, void* results, timeval timeout);
  rpc_err error() noexcept;
  bool free_results(xdrproc_t routine, void* results);
  bool control(unsigned request, void* info);
  /// Deletes the handle.
  void destroy();

 private:
  clnt_stat fail(clnt_stat status, int number = 0) noexcept;
  clnt_stat post(const CallArgs& args, bool batched);
  clnt_stat make(WaitingCall& call, std::chrono::steady_clock::time_point deadline);
  clnt_stat wait_for(WaitingCall& call, std::chrono::steady_clock::time_point deadline);
  void decode_early(WaitingCall& call);
  bool provide_results(WaitingCall& call, const rpcrdma_ddp* entry, memory::RegisteredBuffer& memory);
  const rpcrdma_ddp* ddp_of(rpcproc_t procedure) const noexcept;
  bool in_child() const noexcept;
  bool get(unsigned request, void* info) noexcept;
  bool set(unsigned request, const void* info) noexcept;

  CLIENT client_{};
  char netid_[8] = "";
  char device_[1] = "";
  // The value of forks_so_far() when the handle was made. In a child of the process that made the handle, the present
  // value differs (in_child()).
  unsigned forks_;
  std::mutex mutex_;
  PostedCalls posted_;
  std::unique_ptr<ClientLink> link_;
  sockaddr_storage server_{};
  netbuf server_address_{};
  std::vector<rpcrdma_ddp> ddp_;
  std::uint32_t max_reply_;
  bool stable_opaques_;
  std::uint32_t xid_;
  rpcprog_t program_;
  rpcvers_t version_;
  timeval wait_{};
  bool wait_set_ = false;
  rpc_err error_{};
};

}  // namespace rpcrdma::tirpc
