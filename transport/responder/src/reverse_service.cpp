// SPDX-License-Identifier: BSD-3-Clause
// Operation. Serves calls on a client's connection by a ServingLink, as a server does, with credits of its own
// [8167-4.1-a]. Accepts chunks only if there is a bulk budget.
// Ownership. The link ends with its connection, and is destroyed from the io_context. A call that a handler still holds
// outlives the link.
#include "rpcrdma/responder/reverse_service.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <vector>

#include "call_impl.hpp"
#include "service.hpp"
#include "serving_link.hpp"

namespace rpcrdma::transport {
namespace {

class ReverseServiceImpl final : public ReverseService, private CallSink {
 public:
  ReverseServiceImpl(Client& client, CallHandler& handler, std::uint32_t credits, Log log,
                     UniqueFunction<void()> connected, std::uint32_t bulk_budget)
      : service_({&handler, bulk_budget, bulk_budget, bulk_budget != 0, nullptr, std::move(log)}),
        credits_(credits),
        connected_(std::move(connected)) {
    client.set_call_sink(this);
  }

  std::size_t calls() const noexcept override { return service_.calls_in_use(); }
  void retire(UniqueFunction<void()> over) override {
    on_lost();  // if the client no longer had this sink, it has not told it the end of the connection
    over_ = std::move(over);
    service_.on_call_over = [this] { end_if_idle(); };
    end_if_idle();
  }

 private:
  void end_if_idle() {
    if (!over_ || service_.calls_in_use() != 0) return;
    UniqueFunction<void()> over = std::move(over_);
    over_.reset();
    if (context_ == nullptr) return over();
    boost::asio::post(*context_, [over = std::move(over)]() mutable { over(); });
  }
  /// Returns the link, and creates it if there is none. The link is created for the first message on a connection, not
  /// in on_connected(). If the client had connected before this object became its call sink, on_connected() has not
  /// been called for that connection.
  ServingLink& link_on(Connection& connection) {
    context_ = &connection.context();
    if (!link_) {
      // [8167-4.3.1-a] grants no more credits than the client has receives for reverse calls
      const std::uint32_t credits = std::clamp(credits_, 1u, std::max(connection.options().reverse_credits, 1u));
      link_ = std::make_unique<ServingLink>(service_, credits, 0, connection.info().peer.address());
      link_->open(connection);
    }
    return *link_;
  }
  void on_connected(Connection& connection) noexcept override {
    context_ = &connection.context();
    if (connected_) connected_();
  }
  BackwardSupport support() const noexcept override {
    return service_.setup().may_use_chunks ? BackwardSupport::general : BackwardSupport::size_limited;
  }
  void on_call(Connection& connection, Received& message) noexcept override { link_on(connection).on_call(message); }
  void on_bad_message(Connection& connection, wire::WireError error, Received& message) noexcept override {
    link_on(connection).on_bad_message(error, message);
  }
  void on_lost() noexcept override {
    if (!link_) return;
    link_->lost({});
    // on_lost() may run within a function of the link. The link is therefore destroyed later, from the io_context.
    ended_.push_back(std::move(link_));
    guard_.post(*context_, [](ReverseServiceImpl& self) { self.ended_.clear(); });
  }

  Service service_;
  std::uint32_t credits_;
  UniqueFunction<void()> connected_;
  // The io_context of the client's connections. Null until on_connected() or the first message sets it.
  boost::asio::io_context* context_ = nullptr;
  std::unique_ptr<ServingLink> link_;
  std::vector<std::unique_ptr<ServingLink>> ended_;
  UniqueFunction<void()> over_;
  WeakGuard<ReverseServiceImpl> guard_{*this};
};

}  // namespace

std::unique_ptr<ReverseService> ReverseService::make(Client& client, CallHandler& handler, std::uint32_t credits,
                                                     Log log, UniqueFunction<void()> connected,
                                                     std::uint32_t bulk_budget) {
  return std::make_unique<ReverseServiceImpl>(client, handler, credits, std::move(log), std::move(connected),
                                              bulk_budget);
}

}  // namespace rpcrdma::transport
