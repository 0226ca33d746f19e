// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "rpcrdma/connection/call_statistics.hpp"

namespace rpcrdma::rpc {

/// The statistics of one procedure, kept by one thread of a server or of a client. Only that thread writes and reads
/// them. For the sum over several threads, each thread makes a copy, and operator+=() adds the copies. A server counts
/// a call when it has decoded the arguments of the call. A client counts a call each time that it sends the call.
struct ProcedureStatistics : transport::CallStatistics {
  /// The results that carry one error status of the RPC program, such as NFS3ERR_NOENT.
  struct Failure {
    std::uint32_t status = 0;  ///< the status that the results carry
    std::uint64_t count = 0;   ///< 0: this entry is not used
  };

  /// Server: calls that the duplicate request cache has answered or attached to an equal call.
  std::uint64_t replayed = 0;
  /// Server: how many of the replies that replies() counts have no result, but report an RPC error such as SYSTEM_ERR.
  /// Client: the number of calls that ended without a result.
  std::uint64_t errors = 0;
  Histogram reply_size;  ///< bytes of reply messages, including the bytes in chunks
  /// The counts of the statuses that occurred first. The length of the list is fixed, so that a peer that causes many
  /// different statuses cannot make the list grow.
  std::array<Failure, 16> failures{};
  std::uint64_t other_failures = 0;  ///< results with statuses for which `failures` has no entry left

  /// Server: the number of replies passed to the transport, except those from the duplicate request cache. Client: the
  /// number of replies received.
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
  /// Adds the statistics of another thread for the same procedure.
  ProcedureStatistics& operator+=(const ProcedureStatistics& other) noexcept {
    CallStatistics::operator+=(other);
    replayed += other.replayed;
    errors += other.errors;
    reply_size += other.reply_size;
    for (const Failure& failure : other.failures)
      if (failure.count != 0) fail(failure.status, failure.count);
    other_failures += other.other_failures;
    return *this;
  }
};

/// A procedure that has been called.
struct ProcedureReport {
  std::uint32_t program = 0;  ///< program number
  std::uint32_t version = 0;  ///< program version
  std::uint32_t number = 0;   ///< procedure number
  std::string_view name;      ///< ProcedureInfo::name
  /// Valid until the dispatcher or client is destroyed or the procedure is registered again.
  const ProcedureStatistics* statistics = nullptr;
};

}  // namespace rpcrdma::rpc
