// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The files of one run. They are in a temporary directory with these entries:
//   local/    is empty at first. The command copies files from the server to it. {dir} in the command line is its path.
//   source/   holds a small tree that the command may copy to the server. {source} in the command line is its path.
//   outside/  holds a file that the command must not touch.
//   output    holds the standard output and the standard error of the command.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rpcrdma::conform::client {

/// Describes each file, by path: "file " and the contents of a regular file, "link " and the target of a symbolic link,
/// "directory", "special", or "N bytes" for a regular file whose contents were not read.
using Tree = std::map<std::string, std::string>;

class Workplace {
 public:
  /// Throws std::filesystem::filesystem_error or std::runtime_error.
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::filesystem::path local() const { return top_ / "local"; }
  std::filesystem::path source() const { return top_ / "source"; }
  std::filesystem::path outside() const { return top_ / "outside"; }
  std::filesystem::path output() const { return top_ / "output"; }
  const std::filesystem::path& top() const noexcept { return top_; }

  /// The tree in {dir}. A file longer than any file of the export is described by its size alone.
  Tree local_tree() const;
  /// Paths in the temporary directory, outside of {dir}, that were made, changed or removed.
  std::vector<std::string> changes_outside() const;
  /// The last bytes of the output.
  std::string end_of_output() const;

 private:
  std::filesystem::path top_;
  Tree before_;
};

/// The entries of `wanted` that are missing in `found` or differ there. `found` may have more entries.
std::vector<std::string> damage(const Tree& wanted, const Tree& found);

}  // namespace rpcrdma::conform::client
