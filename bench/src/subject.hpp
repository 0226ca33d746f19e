// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What is measured, and by whom: a Case is one question, a Subject one program that can answer it.
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rpcrdma::bench {

enum class Case { null_rtt, null_rate_qd32, read_1m_qd1, read_1m_qd8, write_1m_qd1, write_1m_qd8, read_4k_qd32 };

struct CaseInfo {
  Case which;
  std::string_view name;
  std::string_view unit;
  std::uint32_t octets;  ///< bulk octets in one operation
  std::uint32_t depth;   ///< operations in flight
};

constexpr std::array<CaseInfo, 7> kCases{{
    {Case::null_rtt, "null_rtt", "us", 0, 1},
    {Case::null_rate_qd32, "null_rate_qd32", "1/s", 0, 32},
    {Case::read_1m_qd1, "read_1m_qd1", "MB/s", 1 << 20, 1},
    {Case::read_1m_qd8, "read_1m_qd8", "MB/s", 1 << 20, 8},
    {Case::write_1m_qd1, "write_1m_qd1", "MB/s", 1 << 20, 1},
    {Case::write_1m_qd8, "write_1m_qd8", "MB/s", 1 << 20, 8},
    {Case::read_4k_qd32, "read_4k_qd32", "1/s", 4096, 32},
}};

constexpr const CaseInfo& info(Case which) { return kCases[static_cast<std::size_t>(which)]; }

/// Octets of a small request or reply, about those of a NULL call with its headers on every layer.
constexpr std::size_t kSmallMessage = 128;

/// One client with its server, both started by the subject's constructor and ended by its destructor.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string_view name() const = 0;
  /// Runs `which` for about `budget` and gives its value in the case's unit (a median for round trips);
  /// nothing when this subject does not do such a case. Throws std::runtime_error when something breaks.
  virtual std::optional<double> run(Case which, std::chrono::milliseconds budget) = 0;
};

}  // namespace rpcrdma::bench
