// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "subject.hpp"

namespace rpcrdma::bench {

/// The NFS cases that create, list and copy files, as system calls on a local directory, in one thread. With `durable`,
/// fsync() writes the files and their directories to disk, as on an export with `sync`.
std::unique_ptr<Subject> make_local(bool durable);

}  // namespace rpcrdma::bench
