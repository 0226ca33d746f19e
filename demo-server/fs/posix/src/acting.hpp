// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The identity that a thread uses for the file system. Only the identity of the calling thread changes: raw system
// calls are used where the C library's functions would change all threads.
//
// A thread that has acted as another user must never post work requests to a verbs device: the kernel compares its
// credentials with those that the device was opened with (see docs/architecture.md). I/O threads do not post.
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// True if a thread of this process can take another user's identity, and has no root rights over files while it has
/// that identity. Tests this on a new thread.
bool can_act_as_others();

/// From now on, the calling thread opens, makes and removes files as one user: with the uid, gid and groups of that
/// user, and without capabilities over files unless the user is root. If `who` is null, the identity does not change:
/// the server then serves all callers as itself. False if the kernel refused: the thread then acts as the server, and
/// must do nothing for the user.
///
/// The thread keeps this identity until act_as() or act_as_server(): it takes the identity once for several changes of
/// one user. Code that needs the server's rights calls act_as_server() first. Without that call, the thread may have
/// fewer rights than it needs, but never more.
bool act_as(const Identity* who) noexcept;
/// Calls act_as_server(), unless keep_identities() lets the thread keep the identity of its last caller.
void act_as_server_in_time() noexcept;
/// From now on, the calling thread has the server's rights over files. Its groups and gid stay those of the last user,
/// because root's rights do not depend on them. Makes no system call if the thread already acts as the server.
void act_as_server() noexcept;

/// Calls act_as(); the destructor makes the thread act as the server again. Does not nest.
class ActingAs {
 public:
  explicit ActingAs(const Identity* who) noexcept : done_(act_as(who)) {}
  ~ActingAs() { act_as_server(); }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

  /// The result of act_as().
  explicit operator bool() const noexcept { return done_; }

 private:
  bool done_;
};

}  // namespace rpcrdma::nfsd
