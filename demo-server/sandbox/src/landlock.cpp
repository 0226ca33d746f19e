// SPDX-License-Identifier: BSD-3-Clause
// As far as the kernel's version can, Landlock limits the TCP ports that the process binds, its signals and its
// abstract sockets, and forbids it to connect by TCP. In `strict` mode it also limits the folders in which the process
// opens, makes and removes files. The C library has no functions for the system calls of Landlock, and older versions
// of <linux/landlock.h> lack some of the rights.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "parts.hpp"
#include "rpcrdma/base/fd.hpp"

namespace rpcrdma::nfsd {
namespace {

namespace fs = std::filesystem;

// Definitions of linux/landlock.h (Linux 6.12) and linux/prctl.h.
enum Rule : std::uint32_t { kPathBeneath = 1, kNetPort = 2 };
struct Attributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent;
};
struct NetPort {
  std::uint64_t allowed;
  std::uint64_t port;
};
constexpr std::uint32_t kVersion = 1;

constexpr std::uint64_t kWriteFile = 1 << 1;
constexpr std::uint64_t kReadFile = 1 << 2;
constexpr std::uint64_t kReadDirectory = 1 << 3;
constexpr std::uint64_t kExecute = 1 << 0;
constexpr std::uint64_t kRefer = 1 << 13;
constexpr std::uint64_t kTruncate = 1 << 14;
constexpr std::uint64_t kDeviceIoctl = 1 << 15;
/// The rights that a rule for a file, not a directory, may have.
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceIoctl;
constexpr std::uint64_t kReading = kReadFile | kReadDirectory;
constexpr std::uint64_t kBind = 1 << 0;
constexpr std::uint64_t kConnect = 1 << 1;
constexpr std::uint64_t kAbstractSockets = 1 << 0;
constexpr std::uint64_t kSignals = 1 << 1;

/// The first version of Landlock with kRefer. Under version 1, a restricted process cannot move or link a file to
/// another directory, which NFS clients may request.
constexpr long kLeastForFiles = 2;
constexpr long kLeastForNetwork = 4;

Attributes handled_by(long version, bool strict) noexcept {
  Attributes out;
  if (strict) out.files = (kRefer << 1) - 1;
  if (strict && version >= 3) out.files |= kTruncate;
  if (strict && version >= 5) out.files |= kDeviceIoctl;
  if (version >= kLeastForNetwork) out.network = kBind | kConnect;
  if (version >= 6) out.scoped = kAbstractSockets | kSignals;
  return out;
}

/// Creates a ruleset. Passes the whole structure, also to a kernel that knows fewer fields. Such a kernel accepts the
/// structure if the fields that it does not know are zero.
Fd make_ruleset(const Attributes& handled) noexcept {
  return Fd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
}

class Ruleset {
 public:
  explicit Ruleset(const Attributes& handled) : handled_(handled), fd_(make_ruleset(handled)) {
    if (!fd_) failed_ = errno;
  }

  void allow(const fs::path& path, std::uint64_t rights) {
    if (handled_.files == 0 || failed_ != 0) return;
    const Fd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat s {};
    if (!at || ::fstat(at.get(), &s) != 0) return;
    if (!S_ISDIR(s.st_mode)) rights &= kOfFiles;
    const PathBeneath rule{rights & handled_.files, at.get()};
    add(kPathBeneath, &rule);
  }
  void allow_port(std::uint16_t port) {
    if (handled_.network == 0 || failed_ != 0) return;
    const NetPort rule{kBind, port};
    add(kNetPort, &rule);
  }

  error_code enter() {
    if (failed_ == 0 && ::syscall(SYS_landlock_restrict_self, fd_.get(), 0) != 0) failed_ = errno;
    return failed_ == 0 ? error_code() : error_of(failed_);
  }

 private:
  void add(Rule kind, const void* rule) {
    if (::syscall(SYS_landlock_add_rule, fd_.get(), kind, rule, 0) != 0) failed_ = errno;
  }

  Attributes handled_;
  Fd fd_;
  int failed_ = 0;
};

/// Permits the process to read the files that the C library, OpenSSL, libtirpc, rdma-core and the verbs plug-in need.
/// This includes everything below /usr, /proc and /sys. Also permits the use of /dev/null, /dev/urandom and the RDMA
/// devices. The rule for the RDMA devices names their directory instead of each device, because a device that is
/// removed may come back under another name.
void allow_libraries(Ruleset& rules) {
  for (const char* path : {"/usr", "/lib", "/lib64", "/proc", "/sys", "/etc/ld.so.cache", "/etc/localtime",
                           "/etc/netconfig", "/etc/libibverbs.d", "/etc/rdma", "/etc/ssl/openssl.cnf"})
    rules.allow(path, kReading);
  for (const char* path : {"/dev/null", "/dev/urandom", "/dev/infiniband"})
    rules.allow(path, kReading | kWriteFile | kDeviceIoctl);
  if (const char* plugins = ::secure_getenv("RPCRDMA_PLUGIN_DIR"); plugins != nullptr) rules.allow(plugins, kReading);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  for (const char* name : {"lib", "lib64"}) rules.allow(program.parent_path().parent_path() / name, kReading);
}

}  // namespace

error_code confine_to(const SandboxNeeds& needs, bool strict) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersion);
  if (version < 0) return error_of(errno);
  if (version < (strict ? kLeastForFiles : kLeastForNetwork)) return error_of(ENOSYS);
  const Attributes handled = handled_by(version, strict);
  Ruleset rules(handled);
  for (const std::uint16_t port : needs.tcp_ports) rules.allow_port(port);
  allow_libraries(rules);
  for (const auto& path : needs.readable) rules.allow(path, kReading);
  for (const auto& path : needs.writable) rules.allow(path, handled.files & ~(kExecute | kDeviceIoctl));
  return rules.enter();
}

}  // namespace rpcrdma::nfsd
