// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "session.hpp"

namespace rpcrdma::conform {

/// Mounts the export and makes the files. Throws CaseFailed if the export cannot be used at all; `files.missing` says
/// why files could not be made in it.
void make_files(Session& session, Files& files);
/// Removes them, as far as possible.
void remove_files(Session& session, const Files& files);

}  // namespace rpcrdma::conform
