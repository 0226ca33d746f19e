// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "core.hpp"
#include "rpcrdma/fabric/fabric.hpp"

namespace rpcrdma::fabric::loopback {

class ListenerState {
 public:
  explicit ListenerState(Fabric::RequestHandler handler) : handler_(std::move(handler)) {}
  void take(std::unique_ptr<ConnectionRequest> request) { handler_(std::move(request)); }

 private:
  Fabric::RequestHandler handler_;
};

class LoopbackListener final : public Listener {
 public:
  LoopbackListener(std::shared_ptr<Core> core, std::shared_ptr<ListenerState> state, Endpoint local)
      : core_(std::move(core)), state_(std::move(state)), local_(std::move(local)) {}
  ~LoopbackListener() override { core_->remove_listener(local_); }
  Endpoint local() const override { return local_; }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<ListenerState> state_;
  Endpoint local_;
};

/// The request of a connector that waits for an answer. Destroying the request without an answer rejects the connector.
class LoopbackRequest final : public ConnectionRequest {
 public:
  LoopbackRequest(std::shared_ptr<Core> core, std::weak_ptr<End> connector, ConnectionInfo info)
      : core_(std::move(core)), connector_(std::move(connector)), info_(std::move(info)) {}
  ~LoopbackRequest() override;
  const ConnectionInfo& info() const noexcept override { return info_; }
  /// Hands the connector over to the caller, which must answer it. Returns null if the connector no longer exists or an
  /// earlier call has returned it.
  std::shared_ptr<End> take_connector() noexcept;

 private:
  std::shared_ptr<Core> core_;
  std::weak_ptr<End> connector_;
  ConnectionInfo info_;
};

}  // namespace rpcrdma::fabric::loopback
