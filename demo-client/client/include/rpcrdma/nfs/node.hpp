// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Files on the server, as the client describes them.
#include <string>
#include <string_view>

#include "rpcrdma/nfs/file_handle.hpp"
#include "rpcrdma/nfs/types.hpp"

namespace rpcrdma::nfs {

/// A file on the server that has been looked up or created.
struct Node {
  FileHandle handle;
  Attributes attributes;
};

/// One entry of a directory. READDIR returns no handle and no attributes, and READDIRPLUS may leave them out.
struct DirectoryEntry {
  std::string name;  ///< as the server sent it: check it with is_plain_name()
  std::uint64_t fileid = 0;
  std::optional<Attributes> attributes;
  std::optional<FileHandle> handle;
};

/// True if `name` can name an entry of a directory: not empty, not "." or "..", without '/' or NUL. Check every name
/// from a server before using it locally.
bool is_plain_name(std::string_view name) noexcept;

/// Transfer sizes from FSINFO.
struct Limits {
  std::uint32_t read_size = 0;   ///< bytes of one READ
  std::uint32_t write_size = 0;  ///< bytes of one WRITE
};

}  // namespace rpcrdma::nfs
