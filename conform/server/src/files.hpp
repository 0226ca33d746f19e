// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "rpcrdma/conform/codec/nfs.hpp"

namespace rpcrdma::conform {

/// The files that the cases use, in a directory that the tester makes in the export and removes at the end.
struct Files {
  nfs::Handle root, directory;
  std::string directory_name;
  nfs::Handle data;    ///< a file with `contents`
  Bytes contents;      ///< kDataSize bytes
  nfs::Handle link;    ///< a symbolic link to `target`
  std::string target;  ///< 101 characters: not a multiple of four
  nfs::Handle many;    ///< a directory whose listing does not fit inline
  std::size_t many_names = 0;
  std::string missing;  ///< the reason why the files do not exist; empty if they exist

  static constexpr std::size_t kDataSize = 10003;  ///< not a multiple of four
};

}  // namespace rpcrdma::conform
