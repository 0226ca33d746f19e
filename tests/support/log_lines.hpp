// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "rpcrdma/base/log.hpp"

namespace rpcrdma::test {

/// Records the lines of a log, at all levels.
class LogLines final : public LogSink {
 public:
  bool enabled(LogLevel) const noexcept override { return true; }
  void write(LogLevel, std::string_view line) noexcept override {
    const std::scoped_lock lock(mutex_);
    lines_.emplace_back(line);
  }
  /// The lines that contain `text`, in order.
  std::vector<std::string> with(std::string_view text) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> out;
    for (const std::string& line : lines_)
      if (line.find(text) != std::string::npos) out.push_back(line);
    return out;
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    lines_.clear();
  }
  /// All lines, to be shown when a test fails.
  std::string all() const {
    std::string out;
    for (const std::string& line : with("")) out.append(line).push_back('\n');
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace rpcrdma::test
