// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include "commands/context.hpp"
#include "commands/format.hpp"

namespace rpcrdma::commands {
namespace {

std::string hexadecimal(const nfs::FileHandle& handle) {
  std::string out;
  for (const std::byte byte : handle.octets()) out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return out;
}

std::string describe(const std::string& name, const nfs::Node& node) {
  const nfs::Attributes& a = node.attributes;
  std::string out = fmt::format("  File: {}\n", name);
  out += fmt::format("  Type: {}\n", type_text(a.type));
  out += fmt::format("  Size: {} bytes, {} on disk\n", a.size, a.used);
  out += fmt::format("  Mode: {:04o} ({})  Uid: {}  Gid: {}  Links: {}\n", a.mode, mode_text(a.type, a.mode), a.uid,
                     a.gid, a.links);
  if (a.type == nfs::FileType::block || a.type == nfs::FileType::character) {
    out += fmt::format("Device: {}, {}\n", a.device.major, a.device.minor);
  }
  out += fmt::format("  Fsid: {:x}  Fileid: {}\n", a.fsid, a.fileid);
  out += fmt::format("Access: {}\n", full_time(a.atime));
  out += fmt::format("Modify: {}\n", full_time(a.mtime));
  out += fmt::format("Change: {}\n", full_time(a.ctime));
  out += fmt::format("Handle: {}\n", hexadecimal(node.handle));
  return out;
}

}  // namespace

boost::asio::awaitable<void> run_stat(Context& context) {
  const Result<nfs::Node> node = co_await context.paths.resolve(context.options.url.path, false);
  if (!node) co_return context.report.fail(context.options.url.text(), node.error());
  print_out(context, describe(printable(context.options.url.text(), isatty(STDOUT_FILENO) == 1), *node));
}

}  // namespace rpcrdma::commands
