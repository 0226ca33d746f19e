// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The fixture of the tests that run on every back end.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "rpcrdma/base/cursor.hpp"
#include "rpcrdma/nfsd/memory/memory_file_system.hpp"
#include "rpcrdma/nfsd/posix/posix_file_system.hpp"

namespace rpcrdma::nfsd {

/// A temporary directory that every user may write to.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    ::umask(0);  // as the server does
    std::string text = (parent / "nfsd-test-XXXXXX").string();
    if (::mkdtemp(text.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = text;
    std::filesystem::permissions(path_, std::filesystem::perms::all);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

enum class Kind { posix_handles, posix_hints, memory };
std::string name_of(Kind kind);

class FileSystemTest : public ::testing::TestWithParam<Kind> {
 protected:
  FileSystemTest() = default;
  explicit FileSystemTest(const std::filesystem::path& parent) : directory_(parent), state_(parent) {}
  void SetUp() override;
  std::unique_ptr<FileSystem> make();
  bool is_posix() const { return GetParam() != Kind::memory; }

  // Operations that many tests use. lookup() returns the status. If one of the other operations does not succeed, the
  // test fails.
  NodeKey create(const NodeKey& directory, std::string_view name, std::string_view content = {});
  NodeKey mkdir(const NodeKey& directory, std::string_view name);
  Status lookup(const NodeKey& directory, std::string_view name);
  std::string read_all(const NodeKey& node, std::uint32_t at_once = 1u << 20);
  WriteResult write(const NodeKey& node, std::uint64_t offset, std::string_view data, Stable stable = Stable::unstable);
  Attributes stat(const NodeKey& node);
  /// Returns all names, listed in replies of at most `per_reply` entries.
  std::multiset<std::string> list(const NodeKey& directory, std::size_t per_reply,
                                  const std::function<void(std::size_t)>& between = {});

  TemporaryDirectory directory_;
  TemporaryDirectory state_;
  PageStore pages_{std::size_t{64} << 20};
  std::unique_ptr<FileSystem> fs_;
  NodeKey root_;
  Caller caller_;
};

inline BufferRef ref(std::string& text) {
  return {reinterpret_cast<std::byte*>(text.data()), static_cast<std::uint32_t>(text.size()), 0};
}

}  // namespace rpcrdma::nfsd
