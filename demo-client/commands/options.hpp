// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The command line of rpcrdma-nfs.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "rpcrdma/base/wait_policy.hpp"
#include "rpcrdma/capture/capture.hpp"
#include "rpcrdma/connection/options.hpp"
#include "rpcrdma/fabric/open/open.hpp"
#include "rpcrdma/nfs/node.hpp"
#include "rpcrdma/nfs/url.hpp"

namespace rpcrdma::commands {

struct Options {
  fabric::OpenOptions fabric;
  transport::VersionChoice version = transport::VersionChoice::one;  ///< version of RPC-over-RDMA
  std::chrono::milliseconds timeout{60000};                          ///< for each call
  std::optional<std::uint16_t> mount_port;                           ///< TCP port of MOUNT; empty: over RDMA
  std::optional<nfs::FileHandle> root;                               ///< the export's handle
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  Polling poll;                                    ///< how the event loop polls
  std::optional<capture::CaptureOptions> capture;  ///< empty: nothing is captured

  std::string command;  ///< the subcommand's name
  nfs::Url url;         ///< the file or directory; mv: the source; ln: the new name
  nfs::Url target;      ///< mv: the new name; ln without -s: the existing file
  std::string local;    ///< get, put: the local path; ln -s: the text of the link
  bool recursive = false;
  bool resume = false;          ///< get, put: whether to resume an interrupted transfer
  std::size_t connections = 1;  ///< get, put: number of connections for READ and WRITE
  bool long_format = false;
  bool parents = false;
  bool symbolic = false;
  std::string statistics;     ///< stats: ADDR:PORT
  bool once = false;          ///< stats: whether to print the totals and end
  bool json = false;          ///< stats: whether to print JSON
  std::uint32_t mode = 0;     ///< chmod: the new mode
  std::uint64_t size = 0;     ///< truncate: the new size, in bytes
  std::uint32_t umask = 022;  ///< the umask of the process
};

/// Returned if the program must exit with this status; all output has been printed.
struct Exit {
  int status = 0;
};

/// Parses the command line. Prints help to standard output (status 0), usage errors to standard error (status 2).
std::variant<Options, Exit> parse_options(int argc, const char* const* argv);

/// Parses a decimal number, which may have the suffix K, M, G or T for a power of 1024. An example is "4K".
std::optional<std::uint64_t> parse_size(std::string_view text);
/// Parses an octal number, at most 7777.
std::optional<std::uint32_t> parse_mode(std::string_view text);

}  // namespace rpcrdma::commands
