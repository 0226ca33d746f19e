// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "environment.hpp"

namespace rpcrdma::sim {

/// A hash of bytes, the same in every process.
inline std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325u) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// The first broken invariant of a run.
struct Violation {
  std::string invariant;  ///< its name, from namespace invariant (stage.hpp)
  std::string what;
  std::uint64_t step = 0;
};

/// Records a run: adds each event to a hash, and prints the event if the constructor was told to. Keeps the first
/// violation of an invariant, at which the run ends.
class Trace {
 public:
  explicit Trace(bool prints) : prints_(prints) {}

  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    line_.clear();
    fmt::format_to(std::back_inserter(line_), format, std::forward<Args>(args)...);
    const std::string_view text(line_.data(), line_.size());
    hash_ = hash_of(text, hash_ ^ static_cast<std::uint64_t>(environment::now().count()));
    if (prints_) print(text);
  }
  /// Records a violation unless `holds`. Only the first violation is recorded.
  template <class... Args>
  void require(bool holds, std::string_view invariant, fmt::format_string<Args...> format, Args&&... args) {
    if (holds || violation_) return;
    violation_ = Violation{std::string(invariant), fmt::format(format, std::forward<Args>(args)...), step_};
    note("violation: {}: {}", violation_->invariant, violation_->what);
  }

  void begin_step() noexcept { ++step_; }
  std::uint64_t step() const noexcept { return step_; }
  std::uint64_t hash() const noexcept { return hash_; }
  bool failed() const noexcept { return violation_.has_value(); }
  const std::optional<Violation>& violation() const noexcept { return violation_; }

 private:
  void print(std::string_view text) const {
    const double ms = std::chrono::duration<double, std::milli>(environment::now()).count();
    fmt::print("{:>6} {:>12.3f} ms  {}\n", step_, ms, text);
  }

  bool prints_;
  fmt::memory_buffer line_;
  std::uint64_t hash_ = 1;
  std::uint64_t step_ = 0;
  std::optional<Violation> violation_;
};

}  // namespace rpcrdma::sim
