// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Functions that change the identity with which the calling thread accesses the file system. The other threads keep
// their identities. The implementation makes raw system calls where a function of the C library would change the
// identity of all threads.
//
// A thread that has acted as another user must never post work requests to a verbs device. The kernel refuses the work
// requests of a thread whose credentials have changed since the device was opened (see docs/architecture.md). Only the
// I/O threads, the threads of LoopThreads and the short-lived thread of can_act_as_others() act as other users. A
// thread that posts such work requests calls keep_servers_identity() first.
#include "rpcrdma/nfsd/fs/types.hpp"

namespace rpcrdma::nfsd {

/// Returns true if a thread of this process can take the identity of another user, and if the thread then has no rights
/// of root over files. Tries this on a new thread, so that the identity of the calling thread does not change.
bool can_act_as_others();

/// True if `who` is the identity of the server: root, with the server's gid. act_as(&who) then makes no system call on
/// a thread that has not acted as another user. Returns false if can_act_as_others() has not been called, or if the
/// process lacks a right over files that root usually has, because the groups would then make a difference.
bool is_server(const Identity& who) noexcept;

/// Gives the calling thread the identity of the user `who`. From now on, the thread opens, makes and removes files with
/// the uid, the gid and the groups of that user. Unless the user is root, the thread then has no capabilities over
/// files. Returns false if the kernel or keep_servers_identity() refuses the identity. The thread then acts as the
/// server, and the caller must do nothing for the user.
///
/// A server that serves all callers as itself passes null. The function then returns true and changes nothing.
///
/// The thread keeps the identity until another act_as() or act_as_server() changes it. Thus several operations of one
/// user need only one change of identity. Code that needs the server's rights calls act_as_server() first. If the code
/// omits this call, the thread may have fewer rights than the code needs, but not more.
bool act_as(const Identity* who) noexcept;
/// The errno that tells why act_as() has returned false: EACCES if the kernel refuses the identity, and EAGAIN if only
/// this thread may not take it, because of keep_servers_identity().
int identity_error() noexcept;
/// Calls act_as_server(), unless keep_identities() lets the thread keep the identity of its last caller.
void act_as_server_in_time() noexcept;
/// From now on, the calling thread has the server's rights over files. The thread keeps the groups and the gid of the
/// last user, because the rights of root do not depend on them. If the thread acts as the server already, the function
/// makes no system call.
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
