// SPDX-License-Identifier: BSD-3-Clause
#include "material.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rpcrdma::bench {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "rpcrdma-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
  path_ = name;
  std::filesystem::create_directory(exported());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void make_file(const std::filesystem::path& path, std::uint32_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file << std::string(bytes, 'r');
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void fill_directory(const std::filesystem::path& path) {
  std::filesystem::create_directory(path);
  for (std::uint32_t i = 0; i < kListed; ++i) make_file(path / fmt::format("entry-{}", i), 0);
}

void make_tree(const std::filesystem::path& path, std::uint32_t files) {
  std::filesystem::create_directory(path);
  for (std::uint32_t i = 0; i < kTreeDirectories; ++i) {
    const std::filesystem::path folder = path / fmt::format("d{}", i);
    std::filesystem::create_directory(folder);
    for (std::uint32_t j = 0; j < files / kTreeDirectories; ++j)
      make_file(folder / fmt::format("f{}", j), kTreeFileBytes);
  }
}

}  // namespace rpcrdma::bench
