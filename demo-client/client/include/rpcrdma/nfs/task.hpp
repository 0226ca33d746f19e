// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The operations of the client are coroutines that run on one io_context. Code that is not a coroutine starts an
// operation by start().
//
// Threads: use the objects of this header on the thread of their executor. The io_context must run until its operations
// have ended. Otherwise the destructor of the io_context destroys the coroutines, and objects to which they refer may
// have been destroyed before.
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <utility>

#include "rpcrdma/base/error.hpp"

namespace rpcrdma::nfs {

/// An operation that yields a T or an error when awaited.
template <class T>
using Task = boost::asio::awaitable<Result<T>>;

/// Starts `task` and passes its outcome to `token`. Any completion token of Boost.Asio will do, such as a callback,
/// use_future or deferred. The signature is void(error_code, T), or void(error_code) for a Task<void>. After an error
/// the T is default-constructed.
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

/// Lets coroutines wait until something changes. notify_one() wakes one of the coroutines in wait(), notify_all() wakes
/// all of them. When wait() has returned, the coroutine must check whether the change for which it waits has happened.
class Signal {
 public:
  explicit Signal(const boost::asio::any_io_executor& executor);
  boost::asio::awaitable<void> wait();
  void notify_one() { timer_.cancel_one(); }
  void notify_all() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

/// Child coroutines that run concurrently with their parent. As they may refer to the parent, the parent must await
/// wait() before it ends.
class Group {
 public:
  explicit Group(const boost::asio::any_io_executor& executor) : executor_(executor), ended_(executor) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Starts a child. A child returns nothing. If children throw, wait() rethrows the first exception.
  void spawn(boost::asio::awaitable<void> child);
  boost::asio::awaitable<void> wait();

 private:
  boost::asio::any_io_executor executor_;
  Signal ended_;
  std::size_t running_ = 0;
  std::exception_ptr thrown_;
};

/// A bounded number of permits. Destroying a Permit frees it for another coroutine. An object of class Permits must
/// outlive the Permit objects that come from it.
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
  /// Returns an empty Permit if none is free.
  Permit try_acquire() noexcept;

 private:
  void release();
  Signal freed_;
  std::size_t free_;
};

}  // namespace rpcrdma::nfs
