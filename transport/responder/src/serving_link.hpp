// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/requester/reverse.hpp"
#include "rpcrdma/responder/server.hpp"
#include "service.hpp"

namespace rpcrdma::transport {

/// The responder's side of one connection: its calls in progress, its grant, and the call whose chunks broke the
/// connection, if any.
class ServingLink {
 public:
  ServingLink(Service& service, std::uint32_t credits, std::uint32_t other_credits,
              const boost::asio::ip::address& peer)
      : service_(service), credits_(credits), other_credits_(other_credits), peer_(service.enter(peer)) {}
  ~ServingLink();
  ServingLink(const ServingLink&) = delete;
  ServingLink& operator=(const ServingLink&) = delete;

  void open(Connection& connection) noexcept { connection_ = &connection; }
  void on_call(Received& message);
  /// Answers the message, or drops it, as RFC 8166 section 4.5 requires. After drain(), drops every message.
  void on_bad_message(wire::WireError error, Received& message);
  void discard(std::optional<std::uint32_t> xid, const char* why) noexcept {
    count_discarded();
    if (connection_ != nullptr) connection_->message_log(xid).debug("message discarded: {}", why);
  }
  /// To be called when the connection has ended. Ends the calls in progress that no handler holds.
  void lost(error_code why);

  std::size_t calls() const noexcept { return active_.size(); }
  std::uint64_t calls_taken() const noexcept { return calls_taken_; }
  ConnectionStatistics statistics() const noexcept {
    return {calls_taken_, static_cast<std::uint32_t>(active_.size()), grant(), bulk_.used(),
            connection_ != nullptr ? connection_->characteristics() : Characteristics{}};
  }
  /// The calls by procedure, the most frequent procedure first.
  std::vector<ProcedureCalls> procedures() const;
  /// True if this connection holds bytes of a budget for which other connections wait (BudgetShare::is_awaited()).
  bool is_awaited() const noexcept { return bulk_.is_awaited() || long_calls_.is_awaited(); }
  /// Makes the link accept no more calls. Later calls are dropped, and the client sends them again on another
  /// connection.
  void drain() noexcept { draining_ = true; }

  /// The requester of the reverse direction, created on first use. Null if this side is the client, or if the
  /// connection was lost before the first use.
  const std::shared_ptr<ReverseRequester>& reverse();
  ReverseRequester* existing_reverse() const noexcept { return reverse_.get(); }
  /// True while the layer above may make reverse calls and holds a reference to the requester for them.
  bool may_call_back() const noexcept { return reverse_ && reverse_->allowed() && reverse_.use_count() > 1; }

  // For the calls.
  Service& service() noexcept { return service_; }
  BudgetShare& bulk() noexcept { return bulk_; }
  BudgetShare& long_calls() noexcept { return long_calls_; }
  std::uint32_t grant() const noexcept;
  /// Adds one to this connection's number of calls of `procedure`.
  void count(const CallStatistics& procedure);
  void remove(CallImpl& call) noexcept;
  bool is_lost() const noexcept { return connection_ == nullptr; }
  void wrote(const CallFingerprint& call) noexcept;
  void pull_failed(const CallFingerprint& call) noexcept;

 private:
  void count_discarded() noexcept {
    service_.count(service_.counters.discarded);
    if (connection_ != nullptr) ++connection_->counted().discarded;
  }
  using ProcedureCount = std::pair<const CallStatistics*, std::uint64_t>;
  void take_request(const wire::Header& header) noexcept;

  Service& service_;
  std::uint32_t credits_;        // the largest credit grant to the peer
  std::uint32_t other_credits_;  // receives to provide in addition, for replies to calls that this side makes
  std::uint32_t granted_ = 1;
  Connection* connection_ = nullptr;
  std::vector<CallImpl*> active_;
  std::uint64_t calls_taken_ = 0;
  std::vector<ProcedureCount> procedures_;
  Service::PeerRef peer_;
  BudgetShare bulk_{peer_->bulk};
  BudgetShare long_calls_{peer_->long_calls};
  std::shared_ptr<ReverseRequester> reverse_;
  bool draining_ = false;
  std::optional<CallFingerprint> failed_pull_;
  // The number of calls with RDMA Writes whose success is unknown. The arrival of a call or of a faulty message from
  // the peer counts as proof that they have succeeded, and sets this number to 0.
  std::uint32_t unproven_writes_ = 0;
  CallFingerprint unproven_;
};

}  // namespace rpcrdma::transport
