// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// A budget whose shares are addresses: each has a quarter at most, and each of its connections a third of that, or
// whatever it is alone in having. So an address that sits on all that it can get leaves room for the others, and a
// connection for those of its address.
#include <algorithm>

#include "rpcrdma/responder/budget.hpp"

namespace rpcrdma::rpc {

inline constexpr std::size_t kBudgetShares = 4;
inline constexpr std::size_t kAddressShares = 3;

/// What one address has. Outlives its connections' shares.
class AddressShare {
 public:
  explicit AddressShare(transport::Budget& all) noexcept
      : all_(all), within_(std::max<std::size_t>(all.most_each(), 1), all.most_each() / kAddressShares) {}

  /// Somebody waits who would get what one of this address gives back.
  bool is_awaited() const noexcept { return all_.has_waiters() || within_.has_waiters(); }

 private:
  friend class ConnectionShare;
  friend class BudgetClaim;
  /// What is larger than an address's part takes all of it.
  std::size_t part_of(std::size_t octets) const noexcept { return std::min(octets, within_.capacity()); }

  transport::Budget& all_;
  transport::BudgetShare share_;
  transport::Budget within_;
};

/// What one connection has. Outlives its claims.
class ConnectionShare {
 public:
  explicit ConnectionShare(AddressShare& address) noexcept : address_(address) {}

  std::size_t used() const noexcept { return share_.used(); }
  bool is_awaited() const noexcept { return used() != 0 && address_.is_awaited(); }
  void release(std::size_t octets) noexcept {
    if (octets == 0) return;
    address_.all_.release(address_.share_, octets);
    address_.within_.release(share_, address_.part_of(octets));
  }

 private:
  friend class BudgetClaim;
  AddressShare& address_;
  transport::BudgetShare share_;
};

/// Asks for octets: first among the connections of the address, then among the addresses. One thread.
class BudgetClaim {
 public:
  BudgetClaim() = default;
  BudgetClaim(const BudgetClaim&) = delete;
  BudgetClaim& operator=(const BudgetClaim&) = delete;

  /// `octets` is at most the budget's capacity. granted() runs, perhaps at once.
  void ask(ConnectionShare& share, std::size_t octets) noexcept {
    from_ = &share;
    octets_ = octets;
    state_ = State::within;
    AddressShare& address = share.address_;
    address.within_.acquire(share.share_, within_, address.part_of(octets));
  }
  bool waits() const noexcept { return state_ != State::rest; }
  /// Asks no more; false if it does not wait.
  bool withdraw() noexcept {
    const State before = std::exchange(state_, State::rest);
    if (before == State::rest) return false;
    AddressShare& address = from_->address_;
    if (before == State::within) return address.within_.withdraw(within_);
    address.all_.withdraw(all_);
    address.within_.release(from_->share_, address.part_of(octets_));
    return true;
  }

 protected:
  ~BudgetClaim() = default;
  /// `octets` belong to who asked, who gives them back by ConnectionShare::release().
  virtual void granted(std::size_t octets) noexcept = 0;

 private:
  enum class State : std::uint8_t { rest, within, all };
  template <void (BudgetClaim::*Function)() noexcept>
  class Waiter final : public transport::BudgetWaiter {
   public:
    explicit Waiter(BudgetClaim& claim) noexcept : claim_(claim) {}
    void on_budget() noexcept override { (claim_.*Function)(); }

   private:
    BudgetClaim& claim_;
  };

  void on_within() noexcept {
    state_ = State::all;
    from_->address_.all_.acquire(from_->address_.share_, all_, octets_);
  }
  void on_all() noexcept {
    state_ = State::rest;
    granted(octets_);
  }

  State state_ = State::rest;
  ConnectionShare* from_ = nullptr;
  std::size_t octets_ = 0;
  Waiter<&BudgetClaim::on_within> within_{*this};
  Waiter<&BudgetClaim::on_all> all_{*this};
};

}  // namespace rpcrdma::rpc
