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
/// Formats a time as ls -l does, in local time. A time within the half year before `now` has the form "Mar  5 14:02".
/// Any other time has the form "Mar  5  2021".
std::string list_time(nfs::Time time, std::time_t now);
/// "2026-03-05 14:02:11.123456789 +0100"
std::string full_time(nfs::Time time);
/// Returns `name` unchanged if `terminal` is false. On a terminal, a name must neither move the cursor nor span two
/// lines. If `terminal` is true, the function therefore replaces control characters (U+0080 to U+009F included) and
/// invalid UTF-8 by \n, \t, \x1b and so on, and '\' by '\\'.
std::string printable(std::string_view name, bool terminal);

/// The widths of the columns of ls -l. include() widens each column that is too narrow for the values of `attributes`.
struct ListWidths {
  std::size_t links = 1, uid = 1, gid = 1, size = 1;
  void include(const nfs::Attributes& attributes, Owners& owners);
};

/// One line of ls -l, without the name.
std::string list_line(const nfs::Attributes& attributes, const ListWidths& widths, Owners& owners, std::time_t now);

}  // namespace rpcrdma::commands
