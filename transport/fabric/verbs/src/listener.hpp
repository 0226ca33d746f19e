// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "presence.hpp"
#include "rpcrdma/base/log.hpp"

namespace rpcrdma::fabric::verbs {

/// An id on which nobody has decided yet. It keeps its channel alive, for it may outlive the listener's fabric.
/// Its id has no context: what happens to it meanwhile shows when it is accepted.
class VerbsRequest final : public ConnectionRequest {
 public:
  VerbsRequest(std::shared_ptr<rdma_event_channel> channel, CmEvent event);
  ~VerbsRequest() override;

  const ConnectionInfo& info() const noexcept override { return info_; }
  void reject(Octets private_data) noexcept;
  /// Moves the id to `channel`, whose fabric accepts it.
  Result<CmId> take(rdma_event_channel* channel);

 private:
  std::shared_ptr<rdma_event_channel> channel_;
  CmId id_;
  ConnectionInfo info_;
};

class VerbsListener final : public Listener, private CmHandler {
 public:
  static Result<std::unique_ptr<Listener>> make(const std::shared_ptr<Presence>& presence, const Endpoint& local,
                                                Fabric::RequestHandler handler, Log log);
  VerbsListener(std::shared_ptr<Presence> presence, const Endpoint& local, Fabric::RequestHandler handler, Log log);
  ~VerbsListener() override;

  Endpoint local() const override { return local_; }

  /// The device has gone.
  void suspend() noexcept { id_.reset(); }
  /// It is back: listens where it did. Success if it listens already.
  error_code resume();

 private:
  error_code listen();
  void on_cm_event(CmEvent event) noexcept override;

  std::shared_ptr<Presence> presence_;
  Endpoint local_;
  CmId id_;
  error_code refused_;                               // why the last try to resume failed; said once
  std::shared_ptr<Fabric::RequestHandler> handler_;  // shared: it may destroy the listener
  Log log_;
  Watch::Interest cm_interest_;
  Watch::Interest async_interest_;
};

}  // namespace rpcrdma::fabric::verbs
