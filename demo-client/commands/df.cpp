// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "commands/context.hpp"

namespace rpcrdma::commands {
namespace {

/// The used share of the space that this user can use, in percent, rounded up as df does.
std::uint64_t percent_used(const nfs::Statistics& space) {
  const std::uint64_t used = space.total_octets - space.free_octets;
  const auto whole = static_cast<long double>(used) + static_cast<long double>(space.available_octets);
  if (whole <= 0) return 0;
  const long double percent = 100 * static_cast<long double>(used) / whole;
  const auto down = static_cast<std::uint64_t>(percent);
  return down + (percent > static_cast<long double>(down) ? 1 : 0);
}

}  // namespace

boost::asio::awaitable<void> run_df(Context& context) {
  const std::string subject = context.options.url.text();
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, true);
  if (!node) co_return context.report.fail(subject, node.error());
  Result<nfs::Statistics> space = co_await context.client.space(node->handle);
  if (!space) co_return context.report.fail(subject, space.error());
  if (space->free_octets > space->total_octets) space->free_octets = space->total_octets;
  const std::size_t width = std::max<std::size_t>(subject.size(), 10);
  std::string out =
      fmt::format("{:<{}} {:>14} {:>14} {:>14} Use%\n", "Filesystem", width, "1K-blocks", "Used", "Available");
  out += fmt::format("{:<{}} {:>14} {:>14} {:>14} {:>3}%\n", subject, width, space->total_octets / 1024,
                     (space->total_octets - space->free_octets) / 1024, space->available_octets / 1024,
                     percent_used(*space));
  print_out(context, out);
}

}  // namespace rpcrdma::commands
