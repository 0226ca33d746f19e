// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What is measured, and by whom: a Case is one question, a Subject one program that can answer it.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "usage.hpp"

namespace rpcrdma::bench {

enum class Operation : std::uint8_t {
  null,             ///< a call that does nothing
  read,             ///< octets from the server
  write,            ///< octets to the server
  attributes,       ///< NFSv3 GETATTR
  setup,            ///< connect, one NULL, disconnect
  idle_memory,      ///< what the server's resident memory grew by for each idle connection
  posted_receives,  ///< octets registered for the receives and sends of each of them
};

struct Case {
  std::string name;
  std::string unit;  ///< "us": the median duration; "1/s", "MB/s": a rate; "KiB"
  Operation operation = Operation::null;
  std::uint32_t octets = 0;       ///< bulk octets in one operation
  std::uint32_t depth = 1;        ///< operations in flight, over all connections
  std::uint32_t connections = 1;  ///< that make the calls
};

/// Octets of a small request or reply, about those of a NULL call with its headers on every layer.
constexpr std::size_t kSmallMessage = 128;

struct Outcome {
  double value = 0;              ///< in the case's unit
  std::uint64_t operations = 0;  ///< how many were made
};

/// A server, started by the subject's constructor and ended by its destructor, with its clients, which connect when
/// first they have something to do.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Runs `which` for about `budget`; nothing when this subject does not do such a case. Throws std::runtime_error
  /// when something breaks.
  virtual std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) = 0;
  /// Totals since the start; of their difference over one run, this call is a small part.
  virtual Usage usage() = 0;
};

}  // namespace rpcrdma::bench
