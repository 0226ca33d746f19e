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

  /// Reports an error of one file and continues; any other error ends the walk.
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
  /// Rights that a new directory also has while its entries are copied.
  static constexpr std::uint32_t kOwnerModes = 0700;

  Copier& copier_;
  Copier::Shared& shared_;
  Client& client_;
  Permits files_;
  Permits walkers_;
  error_code fatal_;
};

}  // namespace rpcrdma::nfs
