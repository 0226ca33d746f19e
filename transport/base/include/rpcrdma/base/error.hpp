// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Each layer has an error category with precise codes. Each code maps to one Condition, which states what the caller
// can do about the error. Log the code, branch on the condition:
//
//   if (ec == rpcrdma::Condition::reconnect) ...
//
// The error type is boost::system::error_code, because Boost.Asio's completion tokens do not treat std::error_code as
// an error. It converts to std::error_code.
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include "rpcrdma/base/build.hpp"
#include "rpcrdma/base/export.hpp"

namespace rpcrdma {

/// The error type of the library; converts to std::error_code.
using error_code = boost::system::error_code;
/// A value, or the error_code that tells why there is no value. value() throws if there is no value.
template <class T>
using Result = boost::system::result<T, error_code>;

/// What the caller can do about an error.
enum class Condition {
  retry = 1,  ///< a state that may pass, such as a shortage: the same call may succeed later
  reconnect,  ///< the connection is lost, or was not made: a new connection may succeed
  give_up,    ///< permanent for this call: neither waiting nor reconnecting helps
  bug,        ///< a programming error in this program or in that of the peer
};

/// Errors of the layers below the fabric, and errors that all layers share.
enum class BaseError {
  buffer_overflow = 1,  ///< the message does not fit the memory meant for it
  out_of_memory,        ///< no memory is available, or a limit on memory or on waiting work is reached
  deadline_exceeded,    ///< a deadline passed, usually that of a call
  cancelled,            ///< the caller cancelled the call, or closed the object
  invalid_argument,     ///< the function does not permit this value, or this call at present
};

/// For the conversion to error_code.
RPCRDMA_EXPORT error_code make_error_code(BaseError e) noexcept;
/// For comparisons of an error_code with a Condition.
RPCRDMA_EXPORT boost::system::error_condition make_error_condition(Condition c) noexcept;

}  // namespace rpcrdma

template <>
struct boost::system::is_error_code_enum<rpcrdma::BaseError> : std::true_type {};
template <>
struct boost::system::is_error_condition_enum<rpcrdma::Condition> : std::true_type {};
