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
/// INIT_XCHAR and UPD_XCHAR have no answer. After this side has sent one of them, the message is `unproven` until a
/// later REQ_XCHAR of this side is known to have arrived. INIT_XCHAR also ceases to be unproven when the peer refuses
/// it. At most one message of this side is unproven. If an UPD_XCHAR is due while a message is unproven, this side
/// first sends an empty REQ_XCHAR and awaits the answer.
///
/// At most one REQ_XCHAR of this side awaits its answer. The peer therefore needs two Receives for the messages of this
/// side, one unproven message and one REQ_XCHAR. It needs two further Receives for the answers to its own messages.
/// These four are kReceives. They are posted in addition to the Receives that credits count.
///
/// A request is `overdue` if its deadline has passed without an answer. The handler of the request, if it has one, has
/// then run. This side may send its next message when the late answer arrives, or when the peer has sent so many calls
/// or replies that it must have received the request.
class Control final : public CharacteristicsExchange {
 public:
  /// The number of Receives that each side keeps posted for optional messages.
  static constexpr std::uint32_t kReceives = 4;
  /// The maximum number of outstanding Sends of optional messages.
  static constexpr std::uint32_t kSends = 4;

  Control(Connection& connection, const CharacteristicOptions& options);

  /// Allocates the memory for the Sends of optional messages, and sets this side's first values. To be called before
  /// all other functions.
  error_code prepare();
  /// To be called for each received message of version two, before on_option() or another event.
  void on_message(const wire::Header& header);
  void on_option(const wire::Header& header);
  /// To be called for an optional message that cannot be decoded.
  void on_malformed(const wire::Header& header) { answer({header.xid, AnswerKind::bad, {}}); }
  /// True if offer_smaller_receives() may be called. This requires ExchangePhase::active, and receives of this side
  /// that are larger than at first and are not being raised. It also requires that this side has made no such offer
  /// since it last lowered the size of its receives or began to raise it.
  bool may_offer_smaller_receives() const noexcept;
  /// Tells the peer that this side would accept a request for the size that its receives had at first.
  void offer_smaller_receives();
  /// Takes an RDMA_ERROR that answers an optional message of this side. Returns false for any other RDMA_ERROR.
  bool on_error(const wire::Header& header);
  /// To be called when a client receives a reverse call. The call shows that the server supports the reverse direction:
  /// with chunks if `has_chunks` is true, and at least without chunks otherwise. Records this, unless the server's
  /// support is already known or the phase is ExchangePhase::off.
  void on_reverse_call(bool has_chunks) noexcept;
  /// To be called for a call of this side. `size`: the number of bytes that the call would have without chunks.
  void on_own_call(std::uint64_t size);
  /// To be called when a receive has been posted again. `replaced` is false if the receive is still smaller than
  /// ReceiveBuffers::size(), because there was no memory for a larger one. This side then gives up an increase of its
  /// receive size that is in progress.
  void on_replaced(bool replaced);
  /// To be called when this side's support of the reverse direction may have changed.
  void on_backward_support();
  /// To be called when the connection falls back to version one.
  void switch_off() noexcept { phase_ = ExchangePhase::off; }
  /// To be called when the connection has ended.
  void lost();
  /// Sends the waiting messages that may be sent now.
  void pump();

  /// The number of granted credits that this side must not use for calls at present, 0 or 1. INIT_XCHAR occupies a
  /// receive of the peer. Unless the peer is known to have a receive for it, one credit stays unused until INIT_XCHAR
  /// is known to have arrived.
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

  // Defined in control.cpp, except take(), which is defined in control_peer.cpp:
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

  // Defined in control_peer.cpp, except on_response(), which control_requests.cpp defines:
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

  // Defined in control_policy.cpp, except own_value(), which is defined in control.cpp:
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
  bool unproven_ = false;                  // an INIT_XCHAR or UPD_XCHAR was sent and is not yet known to have arrived
  bool held_ = false;
  // The XID of the request in transit, until it is answered or, after its deadline, known to have arrived.
  std::optional<std::uint32_t> request_xid_;
  bool fence_ = false;  // the request in transit is the empty REQ_XCHAR of post_fence()
  std::chrono::steady_clock::time_point fence_deadline_;
  bool overdue_ = false;  // the deadline of the request in transit has passed without an answer
  // The number of forward calls (on a server) or of replies to them (on a client) that have arrived since the request
  // in transit was sent.
  std::uint32_t progress_ = 0;
  boost::asio::steady_timer deadline_;
  std::chrono::steady_clock::time_point armed_for_ = std::chrono::steady_clock::time_point::max();
  bool requests_refused_ = false;

  // Values.
  CharacteristicValues own_;   // this side's values in effect
  CharacteristicValues told_;  // the values that this side last announced; own_ may differ until UPD_XCHAR is sent
  std::array<bool, kIds>
      cleared_{};  // this side must announce that the peer's request for this value is no longer pending
  CharacteristicValues peer_;
  std::optional<std::uint32_t> lowered_;  // bytes: limits this side's Sends because of its request for smaller receives
  bool doubtful_ = false;                 // it is not known whether the peer has lowered its receive size
  bool raising_ = false;                  // receives are being replaced by larger ones
  bool raise_asked_ = false;              // the peer has requested this replacement, and its request is pending
  std::uint32_t reply_size_ = 0;          // once UPD_XCHAR is sent, the peer may send inline replies of up to this size

  // Requests of the program and of the policy.
  // requests_ holds those that have not ended. The first one has been sent if request_xid_ is set and both fence_ and
  // overdue_ are false. If fence_ is true, an empty request is in transit instead. If overdue_ is true, the request in
  // transit has ended, and requests_ does not contain it any more.
  std::deque<Request> requests_;
  bool prepared_ = false;  // prepare_request() has run for the first request
  wire::v2::CharacteristicList wanted_;
  InlineGrowth growth_;
  bool growth_asked_ = false;     // a request that ask_for() has made for the policy has not ended yet
  bool shrinking_ = false;        // the policy requests smaller receives for a reason other than the size of calls
  std::uint32_t to_replace_ = 0;  // calls or empty requests to send until the peer has replaced its larger receives
  std::uint64_t own_calls_ = 0;
  std::uint64_t idle_since_ = 0;  // the value that own_calls_ had when the idle timer was set
  bool watching_ = false;
  boost::asio::steady_timer idle_;
  std::uint32_t peer_offer_ = 0;  // the smaller size of receives that the peer has offered to accept; 0: none
  bool offer_due_ = false;        // the offer of smaller receives is to be sent
  bool offered_ = false;          // an offer is due or sent; cleared when this side's receives shrink or begin to grow

  Characteristics counted_;
};

}  // namespace rpcrdma::transport
