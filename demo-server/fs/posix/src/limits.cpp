// SPDX-License-Identifier: BSD-3-Clause
#include "limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {
namespace {

constexpr off_t kLargest = std::numeric_limits<off_t>::max();

/// The largest size that a file can have. A client that knows this limit (maxfilesize of FSINFO) refuses a write beyond
/// it at once. Without the limit, the client would get the error when it writes back data that the program believes to
/// be written. No system call returns the limit, but lseek() enforces it.
std::uint64_t largest_file(int directory) {
  const Fd file(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return kLargest;
  off_t good = 0;
  off_t bad = kLargest;
  if (::lseek(file.get(), bad, SEEK_SET) == bad) return kLargest;
  while (bad - good > 1) {
    const off_t middle = good + (bad - good) / 2;
    (::lseek(file.get(), middle, SEEK_SET) == middle ? good : bad) = middle;
  }
  // If lseek() has accepted no offset, the limit is unknown. This function then returns the largest value of off_t,
  // because a client would refuse valid writes if the limit were too small.
  return good != 0 ? static_cast<std::uint64_t>(good) : kLargest;
}

}  // namespace

Limits limits_of(int directory) {
  Limits limits;
  limits.max_file_size = largest_file(directory);
  const long links = ::fpathconf(directory, _PC_LINK_MAX);
  const long name = ::fpathconf(directory, _PC_NAME_MAX);
  limits.max_links = links > 0 ? static_cast<std::uint32_t>(std::min(links, 0x7fffffffL)) : 1;
  if (name > 0 && name < 255) limits.max_name = static_cast<std::uint32_t>(name);
  return limits;
}

}  // namespace rpcrdma::nfsd
