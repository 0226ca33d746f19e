// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The argument of --export: DIR[:/name][,OPTION]... or memory:/name[,OPTION]...; in DIR a backslash escapes ',' ':' and
// '\'. A configuration file has a key for each part.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/nfsd/exports/checked.hpp"
#include "rpcrdma/nfsd/exports/cidr.hpp"
#include "rpcrdma/nfsd/fs/identity.hpp"

namespace rpcrdma::nfsd {

/// The access that an export gives to its clients.
struct ExportPolicy {
  bool read_only = false;
  /// If false, calls are answered before their changes are on the disk: this is faster, but a crash of the machine may
  /// lose the changes.
  bool sync = true;
  bool devices = false;         ///< MKNOD may make block and character devices
  bool reserved_ports = false;  ///< over TCP, calls must come from ports below 1024; RDMA has no reserved ports
  SquashPolicy squash;          ///< maps the ids of callers; root is squashed by default, as in exports(5)
  std::vector<Cidr> allow;      ///< empty: every address

  bool allows(const boost::asio::ip::address& peer) const noexcept;
};

struct ExportSpec : ExportPolicy {
  bool memory = false;
  std::uint64_t size = 0;  ///< limit in bytes of a memory export; 0: only the limit for all memory exports
  std::string directory;   ///< the exported directory; empty for a memory export
  std::string name;        ///< begins with '/'
  std::string origin;      ///< where the export is configured, for messages: "--export", or FILE:LINE
};

/// Parses the argument of --export. Does not access the directory.
Checked<ExportSpec> parse_export(std::string_view text);

/// Sets one OPTION of the argument of --export: ro, allow=CIDR and so on.
Checked<void> set_export_option(std::string_view word, ExportSpec& spec);

/// Names an unnamed export after its directory, and removes final slashes from the name. Refuses an invalid name,
/// a memory export without a name, and any other export without a directory or with a size.
Checked<void> complete_export(ExportSpec& spec);

/// Parses a number of bytes: digits, then optionally K, M, G or T (powers of 1024). Returns nothing for other text, for
/// 0, and for 2^64 or more.
std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;

}  // namespace rpcrdma::nfsd
