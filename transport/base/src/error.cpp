// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/base/error.hpp"

#include <cstdint>
#include <string>

namespace rpcrdma {
namespace {

// The identifiers of the categories. Two category objects with the same identifier compare equal. A plug-in may contain
// copies of the category objects, and an error with such a copy must compare equal to the same error of the program.
constexpr std::uint64_t kConditionId = 0x7270'6372'646d'6101;
constexpr std::uint64_t kBaseId = 0x7270'6372'646d'6102;

class ConditionCategory final : public boost::system::error_category {
 public:
  ConditionCategory() noexcept : error_category(kConditionId) {}
  const char* name() const noexcept override { return "rpcrdma.condition"; }
  std::string message(int value) const override {
    switch (static_cast<Condition>(value)) {
      case Condition::retry: return "try again later";
      case Condition::reconnect: return "connect again";
      case Condition::give_up: return "permanent failure";
      case Condition::bug: return "programming error";
    }
    return "unknown condition";
  }
};

const ConditionCategory kConditions;

class BaseCategory final : public boost::system::error_category {
 public:
  BaseCategory() noexcept : error_category(kBaseId) {}
  const char* name() const noexcept override { return "rpcrdma.base"; }
  std::string message(int value) const override {
    switch (static_cast<BaseError>(value)) {
      case BaseError::buffer_overflow: return "message does not fit its buffer";
      case BaseError::out_of_memory: return "no buffer available";
      case BaseError::deadline_exceeded: return "timed out";
      case BaseError::cancelled: return "cancelled";
      case BaseError::invalid_argument: return "invalid argument";
    }
    return "unknown error";
  }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<BaseError>(value)) {
      case BaseError::out_of_memory: return make_error_condition(Condition::retry);
      case BaseError::invalid_argument: return make_error_condition(Condition::bug);
      default: return make_error_condition(Condition::give_up);
    }
  }
};

const BaseCategory kBase;

}  // namespace

error_code make_error_code(BaseError e) noexcept { return {static_cast<int>(e), kBase}; }

boost::system::error_condition make_error_condition(Condition c) noexcept { return {static_cast<int>(c), kConditions}; }

}  // namespace rpcrdma
