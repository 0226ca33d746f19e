// SPDX-License-Identifier: BSD-3-Clause
// Operation: the system calls that a server has to make for an NFS call, without the server. GETATTR and LOOKUP make
// those by which this project's server answers for an object that it keeps open. A change of a name or a mode is one
// system call between two statx calls, which weak cache consistency needs; MKDIR has a third one for its reply.
#include "local_subject.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "material.hpp"
#include "rpcrdma/base/fd.hpp"
#include "timing.hpp"

namespace rpcrdma::bench {
namespace {

void check(bool succeeded, const char* what) {
  if (!succeeded) throw std::runtime_error(std::string(what) + " failed in the directory of the peer `local`");
}

Fd open_directory(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  check(static_cast<bool>(fd), "open");
  return fd;
}

/// Lists a directory with the attributes of each entry. Returns the number of entries.
std::uint32_t list(const std::filesystem::path& path) {
  DIR* directory = ::opendir(path.c_str());
  check(directory != nullptr, "opendir");
  std::uint32_t found = 0;
  while (const dirent* entry = ::readdir(directory)) {
    struct stat status;
    if (::fstatat(::dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) ++found;
  }
  ::closedir(directory);
  return found - 2;  // without "." and ".."
}

class Local final : public Subject {
 public:
  explicit Local(bool durable) : durable_(durable), root_(open_directory(folder_.exported())) {}

  std::optional<Outcome> run(const Case& which, std::chrono::milliseconds budget) override {
    switch (which.operation) {
      case Operation::create_remove: return one_by_one(which, budget, [this] { create_remove(); });
      case Operation::attributes: return one_by_one(which, budget, [this] { attributes(); });
      case Operation::lookup: return one_by_one(which, budget, [this] { look_up(); });
      case Operation::mkdir:
      case Operation::set_mode:
      case Operation::rename:
      case Operation::rmdir:
        if (durable_) return std::nullopt;
        return change_names(which, budget);
      case Operation::read_directory: return read_directory(which, budget);
      case Operation::tree_put:
      case Operation::tree_get: return copy_tree(which);
      default: return std::nullopt;
    }
  }

  Usage usage() override { return {Totals::here(), Totals::unknown()}; }

 private:
  void settle(const Fd& fd) const {
    if (durable_) check(::fsync(fd.get()) == 0, "fsync");
  }

  void create_remove() {
    const Fd file(::openat(root_.get(), "c", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    check(static_cast<bool>(file), "openat");
    settle(file);
    settle(root_);
    check(::unlinkat(root_.get(), "c", 0) == 0, "unlinkat");
    settle(root_);
  }

  const Fd& kept() {
    if (!file_) {
      make_file(folder_.exported() / "file", kFileBytes);
      file_ = Fd(::openat(root_.get(), "file", O_PATH | O_CLOEXEC));
      check(static_cast<bool>(file_), "openat");
    }
    return file_;
  }

  void attributes() { stat(kept(), ""); }

  void look_up() {
    stat(root_, "");
    kept();
    stat(root_, "file");
  }

  static void stat(const Fd& directory, const char* name) {
    struct statx status;
    check(::statx(directory.get(), name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status) == 0,
          "statx");
  }

  /// Makes change number `number` of a batch.
  void change(Operation which, std::uint32_t number) {
    const std::string made = fmt::format("made{}", number);
    const std::string here = fmt::format("{}{}", prefix_, number);
    const char* const target = which == Operation::set_mode ? here.c_str() : "";
    stat(root_, target);
    switch (which) {
      case Operation::mkdir:
        check(::mkdirat(root_.get(), made.c_str(), 0755) == 0, "mkdirat");
        stat(root_, made.c_str());  // for the reply
        break;
      case Operation::rmdir: check(::unlinkat(root_.get(), made.c_str(), AT_REMOVEDIR) == 0, "unlinkat"); break;
      case Operation::set_mode: check(::fchmodat(root_.get(), target, mode_, 0) == 0, "fchmodat"); break;
      default:
        check(::renameat(root_.get(), here.c_str(), root_.get(), fmt::format("{}{}", other_, number).c_str()) == 0,
              "renameat");
    }
    stat(root_, target);
  }

  void batch(Operation which, std::vector<double>& samples) {
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      const auto start = Clock::now();
      change(which, i);
      samples.push_back(microseconds(Clock::now() - start));
    }
  }

  /// The median time of one change. As in the other subjects, RMDIR removes what MKDIR has made outside of the measured
  /// time, and the reverse.
  Outcome change_names(const Case& which, std::chrono::milliseconds budget) {
    if (!std::filesystem::exists(folder_.exported() / (prefix_ + "0")))
      for (std::uint32_t i = 0; i < kBatch; ++i)
        std::filesystem::create_directory(folder_.exported() / fmt::format("{}{}", prefix_, i));
    std::vector<double> samples, unused;
    const auto end = Clock::now() + budget;
    do {
      if (which.operation == Operation::rmdir) batch(Operation::mkdir, unused);
      batch(which.operation, samples);
      if (which.operation == Operation::mkdir) batch(Operation::rmdir, unused);
      if (which.operation == Operation::rename) std::swap(prefix_, other_);
      mode_ ^= 0111;
    } while (Clock::now() < end);
    return typical(samples);
  }

  Outcome read_directory(const Case& which, std::chrono::milliseconds budget) {
    const std::filesystem::path path = folder_.path() / "list";
    if (!std::filesystem::exists(path)) fill_directory(path);
    Outcome lists = sequential_rate(which, budget, [&] { check(list(path) == kListed, "readdir"); });
    return {lists.value * kListed, lists.operations * kListed};
  }

  Outcome copy_tree(const Case& which) {
    const std::filesystem::path source = folder_.path() / "tree";
    if (!std::filesystem::exists(source)) make_tree(source, which.files);
    const std::filesystem::path target = folder_.path() / fmt::format("copy{}", copies_++);
    const auto start = Clock::now();
    std::filesystem::create_directory(target);
    for (std::uint32_t i = 0; i < kTreeDirectories; ++i) {
      const std::string name = fmt::format("d{}", i);
      std::filesystem::create_directory(target / name);
      const Fd from = open_directory(source / name);
      const Fd to = open_directory(target / name);
      for (std::uint32_t j = 0; j < which.files / kTreeDirectories; ++j) copy_file(from, to, fmt::format("f{}", j));
      settle(to);
    }
    return rate(which, which.files, seconds_since(start));
  }

  /// Copies a file with its mode and times, as the NFS client does.
  void copy_file(const Fd& from, const Fd& to, const std::string& name) const {
    std::array<char, kTreeFileBytes> data;
    const Fd source(::openat(from.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
    const Fd target(::openat(to.get(), name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    struct stat status;
    check(source && target && ::fstat(source.get(), &status) == 0, "openat");
    check(::read(source.get(), data.data(), data.size()) == static_cast<ssize_t>(data.size()), "read");
    check(::write(target.get(), data.data(), data.size()) == static_cast<ssize_t>(data.size()), "write");
    const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
    check(::fchmod(target.get(), status.st_mode & 0777) == 0 && ::futimens(target.get(), times.data()) == 0,
          "futimens");
    settle(target);
  }

  bool durable_;
  TemporaryDirectory folder_;
  Fd root_;
  Fd file_;  // valid after kept()
  std::string prefix_ = "here";
  std::string other_ = "there";
  mode_t mode_ = 0755;
  int copies_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_local(bool durable) { return std::make_unique<Local>(durable); }

}  // namespace rpcrdma::bench
