// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <memory>

#include "child.hpp"
#include "material.hpp"

namespace rpcrdma::bench {

/// nfs-ganesha with its VFS back end, serving NFSv3 and MOUNTv3 over TCP on 127.0.0.1. The path of the export is that
/// of folder.exported().
class Ganesha {
 public:
  /// Throws Unavailable if nfs-ganesha or rpcbind is not installed, if the caller is not root, or if ganesha does not
  /// start.
  explicit Ganesha(const TemporaryDirectory& folder);

  std::uint16_t nfs_port() const noexcept { return child_->port(); }
  std::uint16_t mount_port() const noexcept { return mount_port_; }
  /// Ganesha's process.
  const Child& child() const noexcept { return *child_; }

 private:
  std::uint16_t mount_port_ = 0;
  std::unique_ptr<Child> child_;
};

}  // namespace rpcrdma::bench
