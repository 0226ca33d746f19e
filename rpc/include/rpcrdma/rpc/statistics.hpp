// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "rpcrdma/base/histogram.hpp"

namespace rpcrdma::rpc {

/// What a server has done for one procedure, on one thread. Written and read on that thread; add copies of several
/// threads.
struct ProcedureStatistics {
  /// Results that carry an error of the program, such as NFS3ERR_NOENT.
  struct Failure {
    std::uint32_t status = 0;  ///< the value of the result's member `status`
    std::uint64_t count = 0;   ///< 0: this entry is not used
  };

  std::uint64_t replayed = 0;  ///< of calls(), answered by the duplicate request cache
  std::uint64_t errors = 0;    ///< of replies(), those without a result, such as SYSTEM_ERR
  Histogram latency;           ///< nanoseconds of answered calls, as transport::IncomingCall::measure() counts them
  Histogram call_size;         ///< bytes of RPC messages, with what travels in chunks
  Histogram reply_size;        ///< bytes of RPC messages, with what travels in chunks
  /// The statuses seen first; a peer cannot make this list longer.
  std::array<Failure, 16> failures{};
  std::uint64_t other_failures = 0;  ///< results with further statuses

  /// Calls whose arguments were decoded.
  std::uint64_t calls() const noexcept { return call_size.count(); }
  /// Replies given to the transport, except those that came from the duplicate request cache.
  std::uint64_t replies() const noexcept { return reply_size.count(); }
  /// Counts a result whose status is not 0.
  void fail(std::uint32_t status, std::uint64_t count = 1) noexcept {
    for (Failure& failure : failures) {
      if (failure.count != 0 && failure.status != status) continue;
      failure.status = status;
      failure.count += count;
      return;
    }
    other_failures += count;
  }
  /// Adds what another thread has done for the same procedure.
  ProcedureStatistics& operator+=(const ProcedureStatistics& other) noexcept {
    replayed += other.replayed;
    errors += other.errors;
    latency += other.latency;
    call_size += other.call_size;
    reply_size += other.reply_size;
    for (const Failure& failure : other.failures)
      if (failure.count != 0) fail(failure.status, failure.count);
    other_failures += other.other_failures;
    return *this;
  }
};

/// A procedure that has been called.
struct ProcedureReport {
  std::uint32_t program = 0;                        ///< program number
  std::uint32_t version = 0;                        ///< program version
  std::uint32_t number = 0;                         ///< procedure number
  std::string_view name;                            ///< ProcedureInfo::name
  const ProcedureStatistics* statistics = nullptr;  ///< valid as long as the dispatcher
};

}  // namespace rpcrdma::rpc
