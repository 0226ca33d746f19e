// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "core.hpp"

namespace rpcrdma::fabric::verbs {

/// A connection request that is neither accepted nor rejected. It keeps its event channel alive, as it may outlive the
/// listener's fabric. The id has no context, so its events are dropped: if the connection fails in the meantime,
/// accepting the request fails.
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
  std::shared_ptr<Fabric::RequestHandler> handler_;  // shared, as the handler may destroy the listener
};

}  // namespace rpcrdma::fabric::verbs
