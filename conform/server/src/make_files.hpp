// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "session.hpp"

namespace rpcrdma::conform {

/// Mounts the export, unless a root handle was given, and makes the files. Throws CaseFailed if the export cannot be
/// used at all. If a file cannot be made in it, `files.missing` says why.
void make_files(Session& session, Files& files);
/// Removes the files, as far as possible.
void remove_files(Session& session, const Files& files);

}  // namespace rpcrdma::conform
