// SPDX-License-Identifier: BSD-3-Clause
// Calls for which an I/O thread finds no memory.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "served.hpp"

// This file replaces operator new, which the thread sanitizer does not permit. The address sanitizer permits it, but
// then does not detect in this program that memory of new is freed by another function than delete.
#ifndef RPCRDMA_THREAD_SANITIZED

namespace {

/// The id of the only thread in which the throwing operator new can succeed. If this is the empty id, operator new can
/// succeed in every thread.
std::atomic<std::thread::id> only;

void* allocated(std::size_t size) {
  const std::thread::id served = only.load(std::memory_order_relaxed);
  const bool denied = served != std::thread::id() && served != std::this_thread::get_id();
  if (void* at = denied ? nullptr : std::malloc(size)) return at;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocated(size); }
void* operator new[](std::size_t size) { return allocated(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }

namespace rpcrdma::nfsd {
namespace {

class OutOfMemory : public Served {};
INSTANTIATE_TEST_SUITE_P(BackEnds, OutOfMemory, ::testing::Values("disk"));

// operator new fails on the I/O threads, and the calls are answered with NFS3ERR_JUKEBOX. The buffers of the calls
// belong to the event loop. After the failure, an I/O thread must return them to the event loop and not destroy them.
TEST_P(OutOfMemory, CallsAreAnsweredWithJukebox) {
  start();
  std::ofstream(disk() / "data/file") << "data";
  std::filesystem::create_symlink("target", disk() / "data/link");
  const nfs_fh3 directory = root();
  const nfs_fh3 file = lookup(directory, "file").LOOKUP3res_u.resok.object;
  const nfs_fh3 link = lookup(directory, "link").LOOKUP3res_u.resok.object;
  only = std::this_thread::get_id();
  const auto read_link = call<nfs3::Readlink>({link});
  const auto read = call<nfs3::Read>({file, 0, 4});
  only = std::thread::id();
  EXPECT_EQ(read_link->status, NFS3ERR_JUKEBOX);
  EXPECT_EQ(read->status, NFS3ERR_JUKEBOX);
}

}  // namespace
}  // namespace rpcrdma::nfsd

#endif
