// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <utility>

#include "request.hpp"
#include "rpcrdma/base/unique_function.hpp"

namespace rpcrdma::nfsd {

/// Lets READDIR and READDIRPLUS calls wait until they get their share of the bulk budget. If a call over RDMA has not
/// got its share after kPatience, it is answered with NFS3ERR_JUKEBOX. This answer shows the client that the server is
/// alive, and makes it try again later. Used by the thread that runs the context. Destroy this object only while no
/// thread runs the context.
class BulkWaits {
 public:
  static constexpr std::chrono::seconds kPatience{3};

  explicit BulkWaits(boost::asio::io_context& context) : timer_(context) {}

  /// Reserves `octets` bytes for `call`, then runs `resume`, a void(rpc::ServerCall<P>), perhaps before this function
  /// returns. Answers NFS3ERR_JUKEBOX if the reservation fails.
  template <rpc::Procedure P, class Resume>
  void reserve(rpc::ServerCall<P> call, std::uint32_t octets, Resume resume) {
    // Only a call over RDMA has a deadline. Over TCP, a call cannot be answered before its bytes are granted, and the
    // transport itself ends stalled connections that hold its budget.
    const bool bounded = !call.over_tcp();
    transport::IncomingCall& transport = call.transport();
    auto wait = std::make_shared<WaitOf<P, Resume>>(std::move(call), std::move(resume));
    transport.reserve_bulk(octets, [wait](error_code status) { wait->over(status); });
    if (bounded && wait->waits()) add(std::move(wait));
  }

 private:
  using Clock = std::chrono::steady_clock;

  class Wait {
   public:
    virtual ~Wait() = default;
    /// Answers the call with NFS3ERR_JUKEBOX if it still waits for its share.
    virtual void give_up() = 0;
  };
  template <rpc::Procedure P, class Resume>
  class WaitOf final : public Wait {
   public:
    WaitOf(rpc::ServerCall<P> call, Resume resume) : call_(std::move(call)), resume_(std::move(resume)) {}
    bool waits() const noexcept { return static_cast<bool>(call_); }
    void over(error_code status) {
      if (!waits()) return;
      if (status) return give_up();
      resume_(std::move(call_));
    }
    void give_up() override {
      // The reply ends the call. The end of the call withdraws a reservation that still waits.
      if (waits()) call_.reply(failed<P>(Status::jukebox));
    }

   private:
    rpc::ServerCall<P> call_;
    Resume resume_;
  };
  struct Deadline {
    Clock::time_point at;
    std::weak_ptr<Wait> wait;  // owned by the handler that reserve_bulk() keeps until the reservation is over
  };

  void add(std::shared_ptr<Wait> wait) {
    while (!deadlines_.empty() && deadlines_.front().wait.expired()) deadlines_.pop_front();
    deadlines_.push_back({Clock::now() + kPatience, std::move(wait)});
    if (!armed_) arm();
  }
  void arm() {
    armed_ = true;
    timer_.expires_at(deadlines_.front().at);
    timer_.async_wait([this](error_code cancelled) {
      if (!cancelled) expire();
    });
  }
  void expire() {
    armed_ = false;
    while (!deadlines_.empty() && deadlines_.front().at <= Clock::now()) {
      const std::shared_ptr<Wait> wait = deadlines_.front().wait.lock();
      deadlines_.pop_front();
      if (wait != nullptr) wait->give_up();
    }
    if (!deadlines_.empty() && !armed_) arm();
  }

  boost::asio::steady_timer timer_;
  std::deque<Deadline> deadlines_;  // earliest first
  bool armed_ = false;
};

}  // namespace rpcrdma::nfsd
