// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/intrusive/list.hpp>

#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

class AfterHandlerService;
class HandlerScope;

/// Calls a function at the end of the present handler of an io_context, before the next handler. A posted handler would
/// run later and cost more: between two handlers the io_context looks for events, which takes a system call.
///
/// Only handlers that have a HandlerScope call such functions. Used by the thread that runs the io_context.
class RPCRDMA_EXPORT AfterHandler
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  /// What schedule() takes: a function that is called with the object given beside it.
  using Function = void(void* object) noexcept;

  /// `context` must outlive this object.
  explicit AfterHandler(boost::asio::io_context& context);
  AfterHandler(const AfterHandler&) = delete;
  AfterHandler& operator=(const AfterHandler&) = delete;

  /// Makes the HandlerScope of the present handler call `function(object)` once, and returns true. Does not call it if
  /// this object is destroyed before. The function may call schedule() again, and may destroy this object.
  ///
  /// Returns false and does nothing if the present handler has no HandlerScope, or if its HandlerScope has already
  /// called many functions. Then post a handler instead. Do not call schedule() again before the function is called.
  bool schedule(Function* function, void* object) noexcept;

 private:
  friend HandlerScope;

  AfterHandlerService& service_;
  Function* function_ = nullptr;
  void* object_ = nullptr;
};

/// A local variable of a handler of an io_context. Its destructor calls the functions that AfterHandler::schedule() has
/// been given during its lifetime.
class RPCRDMA_EXPORT HandlerScope {
 public:
  /// `context` is the io_context that runs the handler.
  explicit HandlerScope(boost::asio::io_context& context);
  ~HandlerScope();
  HandlerScope(const HandlerScope&) = delete;
  HandlerScope& operator=(const HandlerScope&) = delete;

 private:
  AfterHandlerService& service_;
};

}  // namespace rpcrdma
