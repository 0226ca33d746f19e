// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// A subject without a server. It performs the NFS cases that create, list and copy files in a local directory, by
/// system calls on one thread. With `durable`, it calls fsync() for the files and their directories, so that changes
/// are on the disk as on an export with `sync`.
std::unique_ptr<Subject> make_local(bool durable);

}  // namespace rpcrdma::bench
