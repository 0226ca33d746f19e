// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The identity that a thread uses for the file system. Only the calling thread changes: raw system calls are used where
// the C library's functions would change all threads.
//
// A thread that has acted as another user must never post work requests to a verbs device: the kernel compares its
// credentials with those that the device was opened with (see docs/architecture.md). I/O threads do not post.
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// True if a thread of this process can take another user's identity, and has no root rights over files while it has
/// that identity. Tests this on a new thread.
bool can_act_as_others();

/// While it exists, the calling thread opens, makes and removes files as one user: with the uid, gid and groups of that
/// user, and without capabilities over files unless the user is root. Does not nest. Groups and gid stay changed
/// afterwards, because root's rights do not depend on them.
class ActingAs {
 public:
  /// Null stands for the server itself: the identity does not change.
  explicit ActingAs(const Identity* who) noexcept;
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

  /// False if the kernel refused: the thread still acts as the server, and must do nothing for the user.
  explicit operator bool() const noexcept { return done_; }

 private:
  bool done_ = true;
  bool switched_ = false;
};

}  // namespace rpcrdma::nfsd
