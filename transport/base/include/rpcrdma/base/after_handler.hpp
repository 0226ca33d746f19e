// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

class HandlerScope;
class HandlerScopeService;

/// Calls a function at the end of the present handler of an io_context, before the next handler. A posted handler would
/// run later and cost more: between two handlers the io_context looks for events, which takes a system call.
///
/// Only handlers that have a HandlerScope call such functions. Used by the thread that runs the io_context.
class RPCRDMA_EXPORT AfterHandler
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  /// For the function that calls `function(object)`. `context` must outlive this object.
  AfterHandler(boost::asio::io_context& context, void (*function)(void*) noexcept, void* object);
  AfterHandler(const AfterHandler&) = delete;
  AfterHandler& operator=(const AfterHandler&) = delete;

  /// Makes the HandlerScope of the present handler call the function once, and returns true. Does not call it if this
  /// object is destroyed before. The function may call schedule() again, and may destroy this object.
  ///
  /// Returns false and does nothing if there is no HandlerScope, or if it has already called many functions. Then post
  /// a handler instead. Do not call schedule() again before the function is called.
  bool schedule() noexcept;

 private:
  friend HandlerScope;

  HandlerScopeService& service_;
  void (*function_)(void*) noexcept;
  void* object_;
};

/// The first local variable of a handler of an io_context, because functions must not be called while the handler has
/// work to do. The destructor calls the functions of the AfterHandlers that this handler has scheduled. Used by the
/// thread that runs the io_context, and not in a coroutine.
///
/// If this handler runs the io_context itself, the handlers that it runs may have a HandlerScope of their own. Those
/// that have none use this one. Therefore this handler must not wait for what it, or such a handler, has scheduled.
class RPCRDMA_EXPORT HandlerScope {
 public:
  /// `context` is the io_context that runs the handler. Throws std::bad_alloc, but not if an AfterHandler of this
  /// io_context has been made.
  explicit HandlerScope(boost::asio::io_context& context);
  ~HandlerScope();
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;

 private:
  friend AfterHandler;

  HandlerScopeService& service_;
  HandlerScope* const outer_;
  boost::intrusive::list<AfterHandler, boost::intrusive::constant_time_size<false>> scheduled_;
  unsigned called_ = 0;
};

}  // namespace rpcrdma
