// SPDX-License-Identifier: BSD-3-Clause
#include "local_subject.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

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
  int copies_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_local(bool durable) { return std::make_unique<Local>(durable); }

}  // namespace rpcrdma::bench
