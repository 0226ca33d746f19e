// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "rpcrdma/nfs/client.hpp"
#include "rpcrdma/nfs/ranges.hpp"

namespace rpcrdma::nfs {

struct ReadPiece {
  std::uint32_t count = 0;  ///< less than asked for only at the end of the file
  bool eof = false;
};

/// READs until `range` is complete or the file ends. `into` has room for it.
Task<ReadPiece> read_piece(Client& client, FileHandle file, Range range, BufferRef into);

}  // namespace rpcrdma::nfs
