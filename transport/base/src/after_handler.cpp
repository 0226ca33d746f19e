// SPDX-License-Identifier: BSD-3-Clause
// Operation: the AfterHandlers of an io_context share a list, and its HandlerScopes a counter of those that exist: a
// handler may run the io_context itself, and so another handler. The destructor of any HandlerScope empties the list.
#include "rpcrdma/base/after_handler.hpp"

namespace rpcrdma {
namespace {

/// The number of functions that a HandlerScope calls before further ones are refused.
constexpr unsigned kMany = 8;

}  // namespace

class AfterHandlerService : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit AfterHandlerService(boost::asio::execution_context& context) : service(context) {}

  boost::intrusive::list<AfterHandler, boost::intrusive::constant_time_size<false>> scheduled;  // in order
  unsigned scopes = 0;
  unsigned called = 0;  // by the present HandlerScope; at most kMany

 private:
  void shutdown() override {}
};

boost::asio::execution_context::id AfterHandlerService::id;

AfterHandler::AfterHandler(boost::asio::io_context& context)
    : service_(boost::asio::use_service<AfterHandlerService>(context)) {}

bool AfterHandler::schedule(Function* function, void* object) noexcept {
  if (service_.scopes == 0 || service_.called == kMany) return false;
  function_ = function;
  object_ = object;
  service_.scheduled.push_back(*this);
  return true;
}

HandlerScope::HandlerScope(boost::asio::io_context& context)
    : service_(boost::asio::use_service<AfterHandlerService>(context)) {
  ++service_.scopes;
}

HandlerScope::~HandlerScope() {
  while (!service_.scheduled.empty()) {
    const AfterHandler& next = service_.scheduled.front();
    service_.scheduled.pop_front();
    if (service_.called < kMany) ++service_.called;
    next.function_(next.object_);
  }
  service_.called = 0;
  --service_.scopes;
}

}  // namespace rpcrdma
