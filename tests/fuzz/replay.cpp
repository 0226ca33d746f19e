// SPDX-License-Identifier: BSD-3-Clause
// The main() of a fuzz target in a build without libFuzzer. Runs the target on each file that the command line names,
// and on each file in each folder that it names.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "input.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> out;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_directory(argv[i]))
      for (const auto& entry : fs::directory_iterator(argv[i])) out.push_back(entry.path());
    else
      out.emplace_back(argv[i]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Returns the content of `file` in memory of exactly its size, so that the address sanitizer detects a read past its
/// end.
std::vector<std::uint8_t> content(const fs::path& file) {
  std::vector<std::uint8_t> out(fs::file_size(file));
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  if (!in) throw fs::filesystem_error("cannot read", file, std::error_code());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = inputs(argc, argv);
  for (const fs::path& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // if the target crashes, the last line names its input
    const std::vector<std::uint8_t> bytes = content(file);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  if (files.empty()) std::fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
  return files.empty() ? 2 : 0;
}
