// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The identity of a thread towards the file system. Only the calling thread's changes: the system calls are made
// raw where the C library's would change all threads.
//
// A thread that has acted as somebody must never post work requests to a verbs device: the kernel compares
// credentials with those of the device's opening (see docs/architecture.md). I/O threads do not.
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Whether a thread of this process can take another user's place, and loses root's rights over files then. Tries it
/// out on a thread of its own.
bool can_act_as_others();

/// While it lives, the calling thread opens, makes and removes files as one user: with that uid, gid and groups, and
/// without capabilities over files unless that user is root. Does not nest. Groups and gid are left as they are
/// afterwards, for root's rights do not depend on them.
class ActingAs {
 public:
  /// Null: the server itself; nothing happens.
  explicit ActingAs(const Identity* who) noexcept;
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

  /// False: the kernel refused, and the thread acts as the server; nothing must be done for the user then.
  explicit operator bool() const noexcept { return done_; }

 private:
  bool done_ = true;
  bool switched_ = false;
};

}  // namespace rpcrdma::nfsd
