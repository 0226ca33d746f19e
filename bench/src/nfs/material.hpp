// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Files and directories for the measurements.
#include <cstdint>
#include <filesystem>

namespace rpcrdma::bench {

/// A directory for one subject, removed by the destructor. Servers export its entry "export".
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path exported() const { return path_ / "export"; }

 private:
  std::filesystem::path path_;
};

/// The number of entries that fill_directory() makes.
constexpr std::uint32_t kListed = 10'000;
/// Makes the directory `path` and fills it with empty files. Throws std::runtime_error, as do all functions here.
void fill_directory(const std::filesystem::path& path);

/// The number of directories that make_tree() makes in `path`.
constexpr std::uint32_t kTreeDirectories = 30;
/// The size in bytes of each file that make_tree() makes.
constexpr std::uint32_t kTreeFileBytes = 4096;
/// Makes the directory `path` and a tree in it. Each directory of the tree gets `files` / kTreeDirectories files.
void make_tree(const std::filesystem::path& path, std::uint32_t files);

/// Changes of names are measured in batches of this many names.
constexpr std::uint32_t kBatch = 128;

/// Bytes of the file that READ and WRITE use.
constexpr std::uint32_t kFileBytes = 8u << 20;
void make_file(const std::filesystem::path& path, std::uint32_t bytes);

}  // namespace rpcrdma::bench
