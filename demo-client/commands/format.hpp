// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Output formats of ls and stat, and of names in all output.
#include <ctime>
#include <string>
#include <string_view>

#include "commands/owners.hpp"
#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::commands {

/// "drwxr-xr-x"
std::string mode_text(nfs::FileType type, std::uint32_t mode);
/// "regular file", "directory", ...
std::string_view type_text(nfs::FileType type) noexcept;
/// As ls -l: "Mar  5 14:02" for the last half year, else "Mar  5  2021", in local time.
std::string list_time(nfs::Time time, std::time_t now);
/// "2026-03-05 14:02:11.123456789 +0100"
std::string full_time(nfs::Time time);
/// If `terminal` is false, returns `name` unchanged. On a terminal, a name must not move the cursor or span two lines:
/// escapes control characters (U+0080 to U+009F included) and invalid UTF-8 as \n, \t, \x1b and so on, and '\' as '\\'.
std::string printable(std::string_view name, bool terminal);

/// Widths of the columns of ls -l over all lines.
struct ListWidths {
  std::size_t links = 1, uid = 1, gid = 1, size = 1;
  void include(const nfs::Attributes& attributes, Owners& owners);
};

/// One line of ls -l, without the name.
std::string list_line(const nfs::Attributes& attributes, const ListWidths& widths, Owners& owners, std::time_t now);

}  // namespace rpcrdma::commands
