// SPDX-License-Identifier: BSD-3-Clause
// Replaces the C library's wrappers of the system calls that are counted. Left out with a sanitizer,
// which replaces them itself.
#ifndef RPCRDMA_SANITIZED

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tally.hpp"

namespace {

using rpcrdma::tally::Count;
using rpcrdma::tally::Counts;

void add(Count Counts::*which) noexcept { (rpcrdma::tally::here().*which).fetch_add(1, std::memory_order_relaxed); }

template <class... Arguments>
long counted(Count Counts::*which, long number, Arguments... arguments) noexcept {
  add(which);
  return ::syscall(number, arguments...);
}

template <class... Arguments>
ssize_t receive(long number, Arguments... arguments) noexcept {
  const long n = ::syscall(number, arguments...);
  add(n > 0 ? &Counts::receives : &Counts::empty_receives);
  return n;
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* data, size_t size) { return receive(SYS_read, fd, data, size); }
ssize_t readv(int fd, const iovec* vectors, int count) { return receive(SYS_readv, fd, vectors, count); }
ssize_t recv(int fd, void* data, size_t size, int flags) {
  return receive(SYS_recvfrom, fd, data, size, flags, nullptr, nullptr);
}
ssize_t recvmsg(int fd, msghdr* message, int flags) { return receive(SYS_recvmsg, fd, message, flags); }

ssize_t write(int fd, const void* data, size_t size) { return counted(&Counts::sends, SYS_write, fd, data, size); }
ssize_t writev(int fd, const iovec* vectors, int count) {
  return counted(&Counts::sends, SYS_writev, fd, vectors, count);
}
ssize_t send(int fd, const void* data, size_t size, int flags) {
  return counted(&Counts::sends, SYS_sendto, fd, data, size, flags, nullptr, 0);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return counted(&Counts::sends, SYS_sendmsg, fd, message, flags);
}

ssize_t splice(int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags) {
  return counted(&Counts::others, SYS_splice, from, from_at, to, to_at, size, flags);
}

int poll(pollfd* fds, nfds_t count, int timeout) {
  return static_cast<int>(counted(&Counts::waits, SYS_poll, fds, count, timeout));
}
int epoll_wait(int fd, epoll_event* events, int room, int timeout) {
  return static_cast<int>(counted(&Counts::waits, SYS_epoll_wait, fd, events, room, timeout));
}

int sched_yield() noexcept { return static_cast<int>(counted(&Counts::yields, SYS_sched_yield)); }

int epoll_ctl(int fd, int operation, int target, epoll_event* event) noexcept {
  return static_cast<int>(counted(&Counts::others, SYS_epoll_ctl, fd, operation, target, event));
}
int timerfd_settime(int fd, int flags, const itimerspec* wanted, itimerspec* old) noexcept {
  return static_cast<int>(counted(&Counts::others, SYS_timerfd_settime, fd, flags, wanted, old));
}
ssize_t preadv(int fd, const iovec* vectors, int count, off_t offset) {
  return counted(&Counts::others, SYS_preadv, fd, vectors, count, offset, 0);
}
ssize_t pwritev(int fd, const iovec* vectors, int count, off_t offset) {
  return counted(&Counts::others, SYS_pwritev, fd, vectors, count, offset, 0);
}

}  // extern "C"

#endif
