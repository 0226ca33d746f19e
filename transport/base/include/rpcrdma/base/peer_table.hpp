// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <map>
#include <utility>

namespace rpcrdma {

/// Holds one T for each peer address (without the port) that has connections. A T exists as long as a connection refers
/// to it. Used on one thread.
template <class T>
class PeerTable {
  struct Entry {
    template <class... Args>
    explicit Entry(Args&&... args) : value(std::forward<Args>(args)...) {}
    T value;
    std::size_t references = 0;
  };
  using Map = std::map<boost::asio::ip::address, Entry>;

 public:
  /// Refers to the T of one peer address. Each connection holds one Ref. The T is destroyed with its last Ref. A Ref is
  /// move-only and must not outlive the table.
  class Ref {
   public:
    Ref() noexcept = default;
    Ref(Ref&& other) noexcept : table_(std::exchange(other.table_, nullptr)), at_(other.at_) {}
    Ref& operator=(Ref&& other) noexcept {
      if (this != &other) {
        reset();
        table_ = std::exchange(other.table_, nullptr);
        at_ = other.at_;
      }
      return *this;
    }
    ~Ref() { reset(); }

    T& operator*() const noexcept { return at_->second.value; }
    T* operator->() const noexcept { return &at_->second.value; }
    void reset() noexcept {
      Map* const table = std::exchange(table_, nullptr);
      if (table != nullptr && --at_->second.references == 0) table->erase(at_);
    }

   private:
    friend class PeerTable;
    Ref(Map& table, typename Map::iterator at) noexcept : table_(&table), at_(at) { ++at->second.references; }
    Map* table_ = nullptr;
    typename Map::iterator at_;
  };

  /// Returns a Ref to the T of `peer`. If `peer` is not in the table yet, makes its T from `args`.
  template <class... Args>
  Ref enter(const boost::asio::ip::address& peer, Args&&... args) {
    return Ref(peers_, peers_.try_emplace(peer, std::forward<Args>(args)...).first);
  }
  std::size_t size() const noexcept { return peers_.size(); }

 private:
  Map peers_;
};

}  // namespace rpcrdma
