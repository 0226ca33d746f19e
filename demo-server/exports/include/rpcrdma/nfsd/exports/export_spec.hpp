// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What --export takes: DIR[:/name][,OPTION]... or memory:/name[,OPTION]...; a backslash takes the special
// meaning from the ',' ':' or '\' behind it in DIR. A configuration file says the same by keys.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/nfsd/exports/cidr.hpp"
#include "rpcrdma/nfsd/fs/identity.hpp"

namespace rpcrdma::nfsd {

/// How an export treats its clients.
struct ExportPolicy {
  bool read_only = false;
  /// False: WRITE and COMMIT are answered as if the data were on the disk, which is faster and loses it in a crash.
  bool sync = true;
  bool devices = false;         ///< MKNOD may make block and character devices
  bool reserved_ports = false;  ///< over TCP, only ports below 1024 may call; RDMA has no such ports
  SquashPolicy squash;          ///< the identities that callers act under; root is squashed by default, as in exports(5)
  std::vector<Cidr> allow;      ///< empty: everybody

  bool allows(const boost::asio::ip::address& peer) const noexcept;
};

struct ExportSpec : ExportPolicy {
  bool memory = false;
  std::uint64_t size = 0;  ///< octets of data that a memory export holds at most; 0: as much as there is for all
  std::string directory;   ///< unless memory
  std::string name;        ///< begins with '/'
  std::string origin;      ///< who says so, for messages: "--export", or FILE:LINE
};

/// False, and what is wrong with `text` in `why`, if it is no such thing. Does not look at the disk.
bool parse_export(std::string_view text, ExportSpec& out, std::string& why);

/// One word behind the name: ro, allow=CIDR and so on. False and the reason in `why`.
bool parse_export_option(std::string_view word, ExportSpec& out, std::string& why);

/// Fills in and checks what depends on several words: a missing name, no final '/', a size without memory.
bool complete_export(ExportSpec& spec, std::string& why);

/// Octets: digits, then nothing, K, M, G or T (powers of 1024). False for anything else and for 0.
bool parse_size(std::string_view text, std::uint64_t& out) noexcept;

}  // namespace rpcrdma::nfsd
