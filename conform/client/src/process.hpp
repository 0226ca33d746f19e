// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The command of the tested client, as a child process in a process group of its own.
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rpcrdma::conform::client {

/// Replaces each {name} of `text` by its value. Other braces stay.
std::string filled(std::string text, const std::map<std::string, std::string>& values);

class Process {
 public:
  /// Starts `command` with standard input from /dev/null and its output appended to `output`. `added` is added to the
  /// environment. Throws std::system_error if it cannot be started.
  Process(boost::asio::io_context& context, const std::vector<std::string>& command,
          const std::map<std::string, std::string>& added, const std::filesystem::path& output);
  /// Kills the process group, and waits for the process.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Whether the process has ended. Updated only while the io_context runs.
  bool ended() const noexcept { return ended_; }
  int status() const noexcept { return status_; }  ///< exit status; 0 if a signal ended it
  int signal() const noexcept { return signal_; }  ///< 0: none
  /// The peak resident size, in bytes, of the process or, if that is larger, of a descendant that has been waited for.
  /// 0 until ended().
  std::uint64_t memory() const noexcept { return memory_; }

 private:
  void watch();
  void look();

  boost::asio::signal_set children_;
  // The handler of children_ holds a weak_ptr to this flag. The weak_ptr expires when this object is destroyed, and the
  // handler then does nothing.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0, signal_ = 0;
  std::uint64_t memory_ = 0;
};

}  // namespace rpcrdma::conform::client
