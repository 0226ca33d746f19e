// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "rpcrdma/nfs/copy.hpp"

namespace rpcrdma::nfs {

/// The base class of uploads and downloads of a tree: bounds the concurrency, and handles errors.
class TreeWalk {
 protected:
  TreeWalk(Copier& copier, Copier::Shared& shared)
      : copier_(copier),
        shared_(shared),
        client_(shared.client),
        files_(shared.client.executor(), shared.options.files),
        walkers_(shared.client.executor(), shared.options.walkers) {}

  /// Handles an error at `path`. If the error concerns only this file, reports it to the observer, and the walk
  /// continues. Any other error ends the walk.
  void problem(const std::string& path, const error_code& why) {
    if (is_file_error(why)) {
      shared_.observer.on_problem(path, why);
    } else if (!fatal_) {
      fatal_ = why;
    }
  }

  static std::string below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + '/' + name;
  }

  Result<void> outcome() const { return fatal_ ? Result<void>(fatal_) : Result<void>(); }

  /// Mode bits that are copied; the set-id bits are not.
  static constexpr std::uint32_t kDirectoryModes = 01777;
  static constexpr std::uint32_t kFileModes = 0777;
  /// Mode bits that a new directory has in addition while its entries are copied. Without them, the owner might not be
  /// able to create the entries.
  static constexpr std::uint32_t kOwnerModes = 0700;

  Copier& copier_;
  Copier::Shared& shared_;
  Client& client_;
  Permits files_;
  Permits walkers_;
  error_code fatal_;
};

}  // namespace rpcrdma::nfs
