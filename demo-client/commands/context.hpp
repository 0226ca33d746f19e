// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The commands of rpcrdma-nfs, and the objects that they use.
#include <boost/asio/awaitable.hpp>
#include <string_view>

#include "commands/options.hpp"
#include "commands/progress.hpp"
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfs/path.hpp"

namespace rpcrdma::commands {

/// Prints errors on standard error, one line each, and remembers whether there was any.
class Reporter {
 public:
  explicit Reporter(std::string command) : command_(std::move(command)) {}
  /// Prints "rpcrdma-nfs: COMMAND: SUBJECT: MESSAGE".
  void fail(std::string_view subject, const error_code& why);
  void fail(std::string_view subject, std::string_view why);
  /// Sets the text to append to the next error. `text` must stay valid until this error has been printed.
  void remark(std::string_view text) noexcept { remark_ = text; }
  bool failed() const noexcept { return failed_; }
  /// Sets the client whose connection error is printed if a call times out. The client must stay valid while it is set.
  void set_client(const nfs::Client* client) noexcept { client_ = client; }
  /// Sets the progress bar to erase before a line is printed.
  void set_progress(Progress* progress) noexcept { progress_ = progress; }

 private:
  std::string command_;
  const nfs::Client* client_ = nullptr;
  Progress* progress_ = nullptr;
  std::string_view remark_;
  bool failed_ = false;
};

struct Context {
  const Options& options;
  nfs::Client& client;
  nfs::PathResolver& paths;
  Reporter& report;
};

using Command = boost::asio::awaitable<void> (*)(Context&);

boost::asio::awaitable<void> run_ping(Context& context);
boost::asio::awaitable<void> run_cat(Context& context);
boost::asio::awaitable<void> run_stat(Context& context);
boost::asio::awaitable<void> run_readlink(Context& context);
boost::asio::awaitable<void> run_df(Context& context);
boost::asio::awaitable<void> run_ls(Context& context);
boost::asio::awaitable<void> run_get(Context& context);
boost::asio::awaitable<void> run_put(Context& context);
boost::asio::awaitable<void> run_mkdir(Context& context);
boost::asio::awaitable<void> run_rm(Context& context);
boost::asio::awaitable<void> run_mv(Context& context);
boost::asio::awaitable<void> run_ln(Context& context);
boost::asio::awaitable<void> run_chmod(Context& context);
boost::asio::awaitable<void> run_truncate(Context& context);

/// Returns the function that runs the command `name`; null if there is no such command.
Command find_command(std::string_view name) noexcept;

/// Prints `text` to standard output. On a failure, reports it and returns false.
bool print_out(Context& context, std::string_view text);

}  // namespace rpcrdma::commands
