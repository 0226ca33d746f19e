// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What --export takes: DIR[:/name][,ro][,allow=CIDR]... or memory:/name[,...]; a backslash takes the special
// meaning from the ',' ':' or '\' behind it in DIR.
#include <string>
#include <string_view>
#include <vector>

#include "rpcrdma/nfsd/exports/cidr.hpp"

namespace rpcrdma::nfsd {

struct ExportSpec {
  bool memory = false;
  std::string directory;  ///< unless memory
  std::string name;       ///< begins with '/'
  bool read_only = false;
  std::vector<Cidr> allow;  ///< empty: everybody
};

/// False, and what is wrong with `text` in `why`, if it is no such thing. Does not look at the disk.
bool parse_export(std::string_view text, ExportSpec& out, std::string& why);

}  // namespace rpcrdma::nfsd
