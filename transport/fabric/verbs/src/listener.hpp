// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "core.hpp"

namespace rpcrdma::fabric::verbs {

/// A connection request that has been neither accepted nor rejected yet. It shares the ownership of its event channel,
/// because it may outlive the listener's fabric. Its rdma_cm id has no context until the request is taken, so events of
/// the id are dropped. If the connection fails in this time, the later attempt to accept the request fails.
class VerbsRequest final : public ConnectionRequest {
 public:
  VerbsRequest(std::shared_ptr<rdma_event_channel> channel, CmEvent event, std::uint64_t number);
  ~VerbsRequest() override;

  const ConnectionInfo& info() const noexcept override { return info_; }
  void reject(Octets private_data) noexcept;
  /// Moves the id to `channel` and passes it to the caller, which accepts the request.
  Result<CmId> take(rdma_event_channel* channel);

 private:
  std::shared_ptr<rdma_event_channel> channel_;
  CmId id_;
  ConnectionInfo info_;
};

class VerbsListener final : public Listener, private CmHandler {
 public:
  static Result<std::unique_ptr<Listener>> make(std::shared_ptr<Core> core, Endpoint local,
                                                Fabric::RequestHandler handler);
  VerbsListener(std::shared_ptr<Core> core, Fabric::RequestHandler handler);

  Endpoint local() const override { return to_endpoint(*rdma_get_local_addr(id_.get()), rdma_get_src_port(id_.get())); }

 private:
  error_code listen(Endpoint local);
  void on_cm_event(CmEvent event) noexcept override;

  std::shared_ptr<Core> core_;
  CmId id_;
  // The handler may destroy the listener. on_cm_event() therefore shares the ownership of the handler while it runs.
  std::shared_ptr<Fabric::RequestHandler> handler_;
};

}  // namespace rpcrdma::fabric::verbs
