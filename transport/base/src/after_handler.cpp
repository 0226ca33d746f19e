// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/after_handler.hpp"

#include <utility>

namespace rpcrdma {
namespace {

/// A HandlerScope that has called this number of functions refuses further ones, so that other handlers get their turn.
constexpr unsigned kMany = 8;

}  // namespace

class HandlerScopeService : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit HandlerScopeService(boost::asio::execution_context& context) : service(context) {}

  HandlerScope* present = nullptr;

 private:
  void shutdown() override {}
};

boost::asio::execution_context::id HandlerScopeService::id;

AfterHandler::AfterHandler(boost::asio::io_context& context, void (*function)(void*) noexcept, void* object)
    : service_(boost::asio::use_service<HandlerScopeService>(context)), function_(function), object_(object) {}

bool AfterHandler::schedule() noexcept {
  HandlerScope* const scope = service_.present;
  if (scope == nullptr || scope->called_ >= kMany) return false;
  scope->scheduled_.push_back(*this);
  return true;
}

HandlerScope::HandlerScope(boost::asio::io_context& context)
    : service_(boost::asio::use_service<HandlerScopeService>(context)), outer_(std::exchange(service_.present, this)) {}

HandlerScope::~HandlerScope() {
  while (!scheduled_.empty()) {
    const AfterHandler& next = scheduled_.front();
    scheduled_.pop_front();
    ++called_;
    next.function_(next.object_);
  }
  service_.present = outer_;
}

}  // namespace rpcrdma
