// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// How the client's operations run: as coroutines on one io_context, and how to start one from code that is
// none.
//
// Threads: everything here belongs to the thread of its executor. The io_context must run until its
// operations have ended; a coroutine that is thrown away half-way may outlive what it refers to.
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <utility>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfs {

/// An operation that gives a T or an error when awaited.
template <class T>
using Task = boost::asio::awaitable<Result<T>>;

/// Starts `task` and hands its outcome to any completion token, as void(error_code, T) or, for Task<void>,
/// void(error_code): a callback, use_future, deferred and so on. T is default-made when there is an error.
template <class T, class Token>
auto start(const boost::asio::any_io_executor& executor, Task<T> task, Token&& token) {
  if constexpr (std::is_void_v<T>) {
    return boost::asio::async_initiate<Token, void(error_code)>(
        [executor](auto handler, Task<T> operation) {
          boost::asio::co_spawn(executor, std::move(operation),
                                [handler = std::move(handler)](std::exception_ptr thrown, Result<T> result) mutable {
                                  if (thrown) std::rethrow_exception(thrown);
                                  std::move(handler)(result ? error_code() : result.error());
                                });
        },
        token, std::move(task));
  } else {
    return boost::asio::async_initiate<Token, void(error_code, T)>(
        [executor](auto handler, Task<T> operation) {
          boost::asio::co_spawn(executor, std::move(operation),
                                [handler = std::move(handler)](std::exception_ptr thrown, Result<T> result) mutable {
                                  if (thrown) std::rethrow_exception(thrown);
                                  if (result) {
                                    std::move(handler)(error_code(), std::move(*result));
                                  } else {
                                    std::move(handler)(result.error(), T());
                                  }
                                });
        },
        token, std::move(task));
  }
}

/// Something that coroutines wait for. wait() returns after the next notify, so that waiters look at their
/// condition again.
class Signal {
 public:
  explicit Signal(const boost::asio::any_io_executor& executor);
  boost::asio::awaitable<void> wait();
  void notify_one() { timer_.cancel_one(); }
  void notify_all() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

/// Children that run beside their parent. The parent awaits wait() before it ends: they may refer to it.
class Group {
 public:
  explicit Group(const boost::asio::any_io_executor& executor) : executor_(executor), ended_(executor) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Starts a child. It handles its own errors; an exception is thrown again by wait().
  void spawn(boost::asio::awaitable<void> child);
  boost::asio::awaitable<void> wait();

 private:
  boost::asio::any_io_executor executor_;
  Signal ended_;
  std::size_t running_ = 0;
  std::exception_ptr thrown_;
};

/// A bounded number of permits. A Permit gives itself back; the Permits outlives it.
class Permits {
 public:
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept : from_(std::exchange(other.from_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(from_, other.from_);
      return *this;
    }
    ~Permit() {
      if (from_ != nullptr) from_->release();
    }
    explicit operator bool() const noexcept { return from_ != nullptr; }

   private:
    friend class Permits;
    explicit Permit(Permits* from) noexcept : from_(from) {}
    Permits* from_ = nullptr;
  };

  Permits(const boost::asio::any_io_executor& executor, std::size_t count) : freed_(executor), free_(count) {}
  boost::asio::awaitable<Permit> acquire();
  /// An empty Permit when none is free.
  Permit try_acquire() noexcept;

 private:
  void release();
  Signal freed_;
  std::size_t free_;
};

}  // namespace rpcrdma::nfs
