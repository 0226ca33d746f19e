// SPDX-License-Identifier: BSD-3-Clause
// Operation: Asio's reactor asks epoll_wait() to wait until its earliest timer. Here epoll_wait() returns at once, and
// moves the clock by the time that it was asked to wait. timerfd_create() fails, so that Asio passes the time of the
// timer to epoll_wait().
// Error handling: a simulation has no descriptors that could become ready, so epoll_wait() reports none.
// Memory: munmap() keeps the buffers' memory, and mmap() lends it to the next seed; otherwise the kernel's work on
// mappings takes up to half of the time. Such memory is not zero, like a buffer that a pool lends again. The library
// must not depend on its contents, and a seed has the same trace whatever ran before it. Not so with a sanitizer, which
// finds accesses to memory that is not mapped, and where the system call takes other arguments.
#include "environment.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>

#include "random.hpp"

// Marks a function that replaces the function of the same name in libc or libstdc++. With default visibility, the
// definition of this executable is also used for calls from shared libraries.
#define RPCRDMA_SIM_REPLACES __attribute__((visibility("default")))

namespace rpcrdma::sim::environment {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMonotonicStart = 1000 * kSecond;
constexpr std::int64_t kRealStart = 1'700'000'000 * kSecond;

struct State {
  bool active = false;
  std::int64_t now = 0;
  std::uint64_t waits = 0;
  std::int64_t limit = 0;
  void (*give_up)(void*) = nullptr;
  void* object = nullptr;
  Random random{0};
};
constinit State state;

struct [[maybe_unused]] Mapping {
  void* at = nullptr;
  std::size_t size = 0;
  bool used = false;
};
/// Mappings that munmap() keeps. Those that find no place here are unmapped as usual.
[[maybe_unused]] constinit std::array<Mapping, 64> mappings{};

}  // namespace

void begin(std::uint64_t seed) noexcept {
  state = State();
  state.random = Random(seed);
  state.active = true;
}

void end() noexcept { state.active = false; }
Nanoseconds now() noexcept { return Nanoseconds(state.now); }
void advance(Nanoseconds time) noexcept { state.now += time.count(); }
std::uint64_t waits() noexcept { return state.waits; }

void set_limit(Nanoseconds limit, void (*give_up)(void*), void* object) noexcept {
  state.limit = limit.count();
  state.give_up = give_up;
  state.object = object;
}

namespace {

int clock_time(clockid_t clock, timespec* out) noexcept {
  const bool real = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  const std::int64_t at = state.now + (real ? kRealStart : kMonotonicStart);
  out->tv_sec = at / kSecond;
  out->tv_nsec = at % kSecond;
  return 0;
}

int wait(int timeout_ms) noexcept {
  if (timeout_ms == 0) return 0;
  ++state.waits;
  if (state.give_up != nullptr && state.now >= state.limit) {
    state.give_up(state.object);
  } else {
    state.now += std::int64_t{timeout_ms} * 1'000'000;
  }
  return 0;
}

ssize_t random_octets(void* out, std::size_t size) noexcept {
  auto* to = static_cast<std::byte*>(out);
  fill({to, size}, state.random.next());
  return static_cast<ssize_t>(size);
}

}  // namespace
}  // namespace rpcrdma::sim::environment

namespace environment = rpcrdma::sim::environment;

extern "C" {

RPCRDMA_SIM_REPLACES int clock_gettime(clockid_t clock, timespec* out) noexcept {
  if (environment::state.active) return environment::clock_time(clock, out);
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, out));
}

RPCRDMA_SIM_REPLACES int epoll_wait(int descriptor, epoll_event* events, int count, int timeout) {
  if (environment::state.active) return environment::wait(timeout);
  return static_cast<int>(::syscall(SYS_epoll_pwait, descriptor, events, count, timeout, nullptr, 8));
}

RPCRDMA_SIM_REPLACES int timerfd_create(int clock, int flags) noexcept {
  if (!environment::state.active) return static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
  errno = ENOSYS;
  return -1;
}

RPCRDMA_SIM_REPLACES ssize_t getrandom(void* out, std::size_t size, unsigned flags) {
  if (environment::state.active) return environment::random_octets(out, size);
  return ::syscall(SYS_getrandom, out, size, flags);
}

#if !defined(RPCRDMA_SANITIZED) && (defined(__x86_64__) || defined(__aarch64__))

RPCRDMA_SIM_REPLACES void* mmap(void* wanted, std::size_t size, int protection, int flags, int file,
                                off_t offset) noexcept {
  using environment::mappings;
  const bool memory = wanted == nullptr && size != 0 && protection == (PROT_READ | PROT_WRITE) &&
                      flags == (MAP_PRIVATE | MAP_ANONYMOUS);
  if (memory) {
    const auto kept = std::ranges::find_if(mappings, [size](const auto& one) { return !one.used && one.size == size; });
    if (kept != mappings.end()) {
      kept->used = true;
      return kept->at;
    }
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr): syscall() returns the address as a number.
  auto* const at = reinterpret_cast<void*>(::syscall(SYS_mmap, wanted, size, protection, flags, file, offset));
  if (memory && at != MAP_FAILED) {
    const auto place = std::ranges::find(mappings, std::size_t{0}, &environment::Mapping::size);
    if (place != mappings.end()) *place = {at, size, true};
  }
  return at;
}

RPCRDMA_SIM_REPLACES int munmap(void* at, std::size_t size) noexcept {
  for (auto& one : environment::mappings)
    if (one.used && one.at == at && one.size == size) {
      one.used = false;
      return 0;
    }
  return static_cast<int>(::syscall(SYS_munmap, at, size));
}

#endif

RPCRDMA_SIM_REPLACES std::uint32_t arc4random() {
  std::uint32_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}

}  // extern "C"

RPCRDMA_SIM_REPLACES std::random_device::result_type std::random_device::_M_getval() {
  result_type value = 0;
  if (::getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
