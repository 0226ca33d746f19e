// SPDX-License-Identifier: BSD-3-Clause
#include "commands/context.hpp"

#include <unistd.h>

#include <array>
#include <span>
#include <utility>

#include "commands/format.hpp"
#include "rpcrdma/base/print_error.hpp"
#include "rpcrdma/connection/error.hpp"
#include "rpcrdma/nfs/local.hpp"

namespace rpcrdma::commands {

void Reporter::fail(std::string_view subject, std::string_view why) {
  failed_ = true;
  if (progress_ != nullptr) progress_->clear();
  // A name with a line feed must not split the line.
  print_error("rpcrdma-nfs: {}: {}: {}{}\n", command_, printable(subject, true), printable(why, true),
              std::exchange(remark_, {}));
}

void Reporter::fail(std::string_view subject, const error_code& why) {
  const bool unanswered = why == BaseError::deadline_exceeded || why == transport::TransportError::unreachable;
  const error_code lost = client_ != nullptr ? client_->connection_error() : error_code();
  if (unanswered && lost) return fail(subject, std::string_view(lost.message()));
  if (unanswered) return fail(subject, std::string_view("Connection timed out"));
  fail(subject, std::string_view(why.message()));
}

Command find_command(std::string_view name) noexcept {
  static constexpr std::array<std::pair<std::string_view, Command>, 14> kCommands{{
      {"ping", run_ping},
      {"cat", run_cat},
      {"stat", run_stat},
      {"readlink", run_readlink},
      {"df", run_df},
      {"ls", run_ls},
      {"get", run_get},
      {"put", run_put},
      {"mkdir", run_mkdir},
      {"rm", run_rm},
      {"mv", run_mv},
      {"ln", run_ln},
      {"chmod", run_chmod},
      {"truncate", run_truncate},
  }};
  for (const auto& [known, command] : kCommands) {
    if (known == name) return command;
  }
  return nullptr;
}

bool print_out(Context& context, std::string_view text) {
  const Result<void> written = nfs::write_out(STDOUT_FILENO, std::as_bytes(std::span(text)));
  if (!written) context.report.fail("standard output", written.error());
  return written.has_value();
}

}  // namespace rpcrdma::commands
