// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "rpcrdma/connection/characteristics.hpp"
#include "rpcrdma/connection/connection.hpp"
#include "rpcrdma/connection/exchange_phase.hpp"
#include "rpcrdma/connection/inline_growth.hpp"
#include "rpcrdma/connection/work.hpp"
#include "rpcrdma/wire/v2/options.hpp"

namespace rpcrdma::transport {

/// Sends and answers the optional messages of a connection of version two, and exchanges characteristics. A Connection
/// owns its Control.
///
/// INIT_XCHAR and UPD_XCHAR have no answer. One that this side has sent is `unproven` until a later request is known to
/// have arrived. INIT_XCHAR also ceases to be unproven when it is refused. At most one message is unproven, and at most
/// one request awaits its answer: before an update that would follow an unproven message, this side sends an empty
/// REQ_XCHAR and awaits the answer. So the peer needs two Receives for this side's messages, and two for the answers to
/// its own messages: kReceives, in addition to the Receives that credits count.
///
/// A request is `overdue` if its deadline has passed without an answer; its handler, if any, has run. The next message
/// may follow when the late answer arrives, or when the peer has sent so many calls or replies that it must have
/// received the request.
class Control final : public CharacteristicsExchange {
 public:
  /// The number of Receives that each side keeps posted for optional messages.
  static constexpr std::uint32_t kReceives = 4;
  /// The maximum number of outstanding Sends of optional messages.
  static constexpr std::uint32_t kSends = 4;

  Control(Connection& connection, const CharacteristicOptions& options);

  /// Allocates the memory for Sends. To be called first.
  error_code prepare();
  /// To be called for each received message of version two, before on_option() or another event.
  void on_message(const wire::Header& header);
  void on_option(const wire::Header& header);
  /// To be called for an optional message that cannot be decoded.
  void on_malformed(const wire::Header& header) { answer({header.xid, AnswerKind::bad, {}}); }
  /// True in ExchangePhase::active if this side's receives are larger than at first and are not being raised, and the
  /// peer has not been told yet that smaller receives would suffice.
  bool may_offer_smaller_receives() const noexcept;
  /// Tells the peer that this side would accept a request for the size that its receives had at first.
  void offer_smaller_receives();
  /// Takes an RDMA_ERROR that answers an optional message of this side. Returns false for any other RDMA_ERROR.
  bool on_error(const wire::Header& header);
  /// To be called on the client for a reverse call. Records the support that the call shows, unless the support of the
  /// server is already known or the exchange is off.
  void on_reverse_call(bool has_chunks) noexcept;
  /// To be called for a call of this side. `size`: the number of bytes that the call would have without chunks.
  void on_own_call(std::uint64_t size);
  /// To be called when a receive has been posted again. `replaced`: false if the receive is smaller than
  /// ReceiveBuffers::size().
  void on_replaced(bool replaced);
  /// To be called when this side's support of the reverse direction may have changed.
  void on_backward_support();
  /// To be called when the connection falls back to version one.
  void switch_off() noexcept { phase_ = ExchangePhase::off; }
  /// To be called when the connection has ended.
  void lost();
  /// Sends the waiting messages that may be sent now.
  void pump();

  /// The number of this side's call credits that an optional message holds until it is known to have arrived.
  std::uint32_t held_credits() const noexcept { return held_ ? 1 : 0; }
  /// Which reverse calls the peer accepts.
  BackwardSupport peer_backward_support() const noexcept { return peer_.backward_request_support; }

  Characteristics characteristics() const noexcept override;
  void request(const CharacteristicChange& wanted, Handler handler) override;
  void change(const CharacteristicChange& wanted, Handler handler) override;
  boost::asio::io_context& executor_context() noexcept override { return connection_.context(); }

 private:
  enum class AnswerKind : std::uint8_t { response, refused, bad };
  struct Answer {
    std::uint32_t xid;
    AnswerKind kind;
    wire::v2::ResponseOption response;
  };
  struct Request {
    CharacteristicChange wanted;
    Handler handler;  // empty for a request of the policy
    std::chrono::steady_clock::time_point deadline;
  };
  struct SendSlot {
    explicit SendSlot(Control& of) noexcept : owner(of), work(*this) {}
    void on_sent(const fabric::Completion& completion) noexcept { owner.on_sent(*this, completion); }
    Control& owner;
    BufferRef memory;
    bool busy = false;
    MemberWork<SendSlot, &SendSlot::on_sent> work;
  };
  enum Id : std::uint8_t { kReceiveSize, kInvalidation, kBackward, kIds };

  // Defined in control.cpp, but take() in control_peer.cpp:
  void announce(bool known);
  bool post(wire::Header& header);
  template <class Option>
  bool post_option(const Option& option, std::uint32_t xid, wire::Direction direction);
  bool post_answer(const Answer& answer);
  bool post_next();
  bool post_update();
  bool post_offer();
  bool post_request(const CharacteristicChange& wanted);
  bool post_fence();
  void answer(const Answer& answer);
  void on_sent(SendSlot& slot, const fabric::Completion& completion) noexcept;
  SendSlot* idle_slot() noexcept;
  bool take(ExchangeEvent event, std::uint32_t xid);

  // Defined in control_peer.cpp, but on_response() in control_requests.cpp:
  void on_init(const wire::Header& header);
  void on_request(const wire::Header& header);
  void on_response(const wire::Header& header);
  void on_update(const wire::Header& header);
  void apply(const wire::v2::Characteristic& value);
  Disposition consider(const wire::v2::Characteristic& wanted);
  Disposition consider_size(std::uint32_t size);
  bool start_raise(std::uint32_t size, bool asked);

  // Defined in control_requests.cpp:
  void prepare_request();
  ChangeOutcome settle(const wire::v2::ResponseOption& response);
  void doubt();
  void answered() noexcept;
  void settle(std::uint32_t id, std::uint32_t value, Disposition disposition);
  void end_request(error_code status, const ChangeOutcome& outcome);
  std::uint32_t largest_send() const noexcept;
  void limit_sends() noexcept;

  // Defined in control_timer.cpp:
  void arm(std::chrono::steady_clock::time_point deadline);
  void on_deadline();
  void note_progress(const wire::Header& header);

  // Defined in control_policy.cpp, but own_value() in control.cpp:
  void on_offer(std::uint32_t size);
  void take_offer();
  bool may_shrink() const noexcept;
  void ask_for(std::uint32_t size, const char* why, std::uint64_t& counter);
  void shrink(std::uint32_t size, const char* why, std::uint64_t& counter);
  void watch_idleness();
  std::uint32_t first_size() const noexcept;
  wire::v2::Characteristic own_value(Id id, const CharacteristicValues& from) const noexcept;

  Connection& connection_;
  const CharacteristicOptions options_;
  ExchangePhase phase_;
  bool lost_ = false;
  bool pumping_ = false;

  // Messages in transit.
  memory::RegisteredBuffer memory_;
  std::array<SendSlot, kSends> slots_;
  std::deque<Answer> answers_;
  std::uint32_t next_xid_;
  std::optional<std::uint32_t> init_xid_;  // the XID of INIT_XCHAR, until INIT_XCHAR is known to have arrived
  bool unproven_ = false;                  // it is unknown whether the last INIT_XCHAR or UPD_XCHAR has arrived
  bool held_ = false;
  // The XID of the request in transit, until it is answered or, after its deadline, known to have arrived.
  std::optional<std::uint32_t> request_xid_;
  bool fence_ = false;  // the request in transit is empty
  std::chrono::steady_clock::time_point fence_deadline_;
  bool overdue_ = false;        // the deadline of the request in transit has passed without an answer
  std::uint32_t progress_ = 0;  // forward calls or their replies received since the request in transit was sent
  boost::asio::steady_timer deadline_;
  std::chrono::steady_clock::time_point armed_for_ = std::chrono::steady_clock::time_point::max();
  bool requests_refused_ = false;

  // Values.
  CharacteristicValues own_;   // this side's values in effect
  CharacteristicValues told_;  // this side's values as announced
  std::array<bool, kIds>
      cleared_{};  // this side must announce that the peer's request for this value is no longer pending
  CharacteristicValues peer_;
  std::optional<std::uint32_t> lowered_;  // the smaller Receive Buffer Size that this side has requested
  bool doubtful_ = false;                 // it is not known whether the peer has lowered its receive size
  bool raising_ = false;                  // receives are being replaced by larger ones
  bool raise_asked_ = false;              // the peer has requested these larger receives
  std::uint32_t reply_size_ = 0;          // inline replies may have this size once the update has been sent

  // Requests of the program and of the policy.
  // The first request has been sent if request_xid_ is set, and neither fence_ nor overdue_ is.
  std::deque<Request> requests_;
  bool prepared_ = false;  // prepare_request() has run for the first request
  wire::v2::CharacteristicList wanted_;
  InlineGrowth growth_;
  bool growth_asked_ = false;     // a request of the policy has not ended yet
  bool shrinking_ = false;        // the policy requests smaller receives for a reason other than the size of calls
  std::uint32_t to_replace_ = 0;  // receives that the peer must still replace; calls and empty requests consume them
  std::uint64_t own_calls_ = 0;
  std::uint64_t idle_since_ = 0;  // own_calls_ when the idle timer was set
  bool watching_ = false;
  boost::asio::steady_timer idle_;
  std::uint32_t peer_offer_ = 0;  // the smaller size of receives that the peer has offered to accept; 0: none
  bool offer_due_ = false;        // the offer of smaller receives is to be sent
  bool offered_ = false;          // the offer is due, or has been sent since the size of receives last changed

  Characteristics counted_;
};

}  // namespace rpcrdma::transport
