// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/requester/reverse.hpp"

#include <atomic>
#include <boost/asio/post.hpp>

#include "requester_core.hpp"

namespace rpcrdma::transport {
namespace {

/// The maximum number of reverse calls that wait until they can be sent. Without a limit, calls to a client that does
/// not answer could use up the memory of the server. No RFC sets this limit.
constexpr std::uint32_t kMaxWaiting = 1024;
/// How long reverse calls that were given up may hold all credits before the connection ends. In this time, late
/// replies may free credits.
constexpr std::chrono::seconds kPatience{10};

RequesterSetup setup_for(Connection& connection) {
  RequesterSetup out;
  out.context = &connection.context();
  out.credits = connection.options().reverse_credits;  // [8167-4.1-a] [8167-4.1-b] each direction has its own credits
  // [8167-4.3.2-a] The responder posts the receives for calls of the client and for replies to reverse calls. The
  // requester itself therefore requires only one receive in addition to one for each of its replies.
  out.other_credits = 1;
  out.max_waiting = kMaxWaiting;
  out.may_use_chunks = false;
  out.resends = false;
  // The connection does not end merely because a reverse call times out and the client is silent. A server cannot
  // reconnect, and the connection also carries calls of the client. However, the connection ends if calls that were
  // given up have held all credits for kPatience. It also ends if the Send of such a call still reads the caller's
  // memory after RequesterSetup::grace. The client may then connect again.
  out.silence = std::chrono::hours(24 * 365);
  out.patience = kPatience;
  out.log = connection.log();
  return out;
}

class ReverseImpl final : public ReverseRequester {
 public:
  // [8166-4-b] Both sides of a connection may send calls. This object sends those of the server.
  explicit ReverseImpl(Connection& connection)
      : core_(setup_for(connection), [] {}), enabled_(connection.options().reverse_credits != 0) {
    core_.attach(&connection);
  }
  /// The deleter of the std::shared_ptr. The last reference may be dropped in done(), within a callback of the core;
  /// the deletion is therefore deferred.
  static void release(ReverseImpl* self) {
    boost::asio::io_context& context = *self->core_.setup().context;
    self->core_.shut(BaseError::cancelled);
    boost::asio::post(context, [owned = std::unique_ptr<ReverseImpl>(self)] {});
  }

  void submit(Call& call) override {
    // [xchar-3.3-a] does not send the call if the client has announced that it accepts no reverse calls
    if (allowed_ && (core_.connection() == nullptr || core_.connection()->peer_takes_reverse_calls()))
      core_.submit(call);
    else
      // [8167-6-a] refuses calls before allow(), and all calls if either side has switched reverse calls off
      core_.refuse(call, TransportError::reverse_disabled);
  }
  void cancel(Call& call) override { core_.cancel(call); }
  std::uint32_t next_xid() noexcept override { return core_.next_xid(); }
  Counters counters() const noexcept override { return core_.counters(); }
  Traffic traffic() const noexcept override { return core_.traffic(); }
  void allow() noexcept override { allowed_ = enabled_; }
  bool allowed() const noexcept override { return allowed_; }
  bool connected() const noexcept override { return connected_.load(std::memory_order_relaxed); }
  void on_reply(Received& message) override { core_.on_reply(message); }
  void on_peer_error(Received& message) override { core_.on_peer_error(message); }
  void on_batch_end() override { core_.pump(); }
  bool expects(std::uint32_t xid) const noexcept override { return core_.expects(xid); }
  void lost() override {
    connected_.store(false, std::memory_order_relaxed);
    core_.shut(TransportError::connection_lost);
  }

 private:
  RequesterCore core_;
  const bool enabled_;
  bool allowed_ = false;
  std::atomic<bool> connected_{true};
};

}  // namespace

std::shared_ptr<ReverseRequester> ReverseRequester::make(Connection& connection) {
  return {new ReverseImpl(connection), &ReverseImpl::release};
}

}  // namespace rpcrdma::transport
