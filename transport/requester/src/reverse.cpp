// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/requester/reverse.hpp"

#include "requester_core.hpp"

namespace rpcrdma::transport {
namespace {

RequesterSetup setup_for(Connection& connection) {
  RequesterSetup out;
  out.context = &connection.context();
  out.credits = connection.options().reverse_credits;  // [8167-4.1-a] [8167-4.1-b]
  out.other_credits = 1;  // the responder provides its receives, and one per reverse call [8167-4.3.2-a]
  out.may_use_chunks = false;
  out.resends = false;
  out.log = connection.log();
  return out;
}

class ReverseImpl final : public ReverseRequester {
 public:
  // [8166-4-b]
  explicit ReverseImpl(Connection& connection) : core_(setup_for(connection), [] {}) { core_.attach(&connection); }

  void submit(Call& call) override {
    if (allowed_)
      core_.submit(call);
    else
      core_.refuse(call, TransportError::reverse_disabled);  // [8167-6-a]
  }
  void cancel(Call& call) override { core_.cancel(call); }
  std::uint32_t next_xid() noexcept override { return core_.next_xid(); }
  Counters counters() const noexcept override { return core_.counters(); }
  void allow() noexcept override { allowed_ = true; }
  bool allowed() const noexcept override { return allowed_; }
  void on_reply(Received& message) override { core_.on_reply(message); }
  void on_peer_error(Received& message) override { core_.on_peer_error(message); }
  void on_batch_end() override { core_.pump(); }
  bool expects(std::uint32_t xid) const noexcept override { return core_.expects(xid); }
  void lost() override { core_.shut(TransportError::connection_lost); }

 private:
  RequesterCore core_;
  bool allowed_ = false;
};

}  // namespace

std::shared_ptr<ReverseRequester> ReverseRequester::make(Connection& connection) {
  return std::make_shared<ReverseImpl>(connection);
}

}  // namespace rpcrdma::transport
