// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "device/device_lifecycle.hpp"
#include "rpcrdma/base/log.hpp"

namespace rpcrdma::fabric::verbs {

/// A connection request that is neither accepted nor rejected. It keeps its channel alive, as it may outlive the
/// listener's fabric. Its id has no context: events are dropped, and a failure shows when it is accepted.
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
  static Result<std::unique_ptr<Listener>> make(const std::shared_ptr<DeviceLifecycle>& lifecycle,
                                                const Endpoint& local, Fabric::RequestHandler handler, Log log);
  VerbsListener(std::shared_ptr<DeviceLifecycle> lifecycle, const Endpoint& local, Fabric::RequestHandler handler,
                Log log);
  ~VerbsListener() override;

  Endpoint local() const override { return local_; }

  /// The device is lost.
  void suspend() noexcept { id_.reset(); }
  /// The device is back: listens at the same address and port. Success if it listens already.
  error_code resume();

 private:
  error_code listen();
  void on_cm_event(CmEvent event) noexcept override;

  std::shared_ptr<DeviceLifecycle> lifecycle_;
  Endpoint local_;
  CmId id_;
  error_code refused_;                               // why the last attempt to resume failed; logged once
  std::shared_ptr<Fabric::RequestHandler> handler_;  // shared: it may destroy the listener
  Log log_;
  Watch::Interest cm_interest_;
  Watch::Interest async_interest_;
};

}  // namespace rpcrdma::fabric::verbs
