// SPDX-License-Identifier: BSD-3-Clause
#include "workplace.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "rpcrdma/conform/codec/words.hpp"

namespace rpcrdma::conform::client {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLongestFile = 8u << 20;
constexpr std::size_t kMostEntries = 100000;
constexpr std::streamoff kOutputKept = 4096;

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary).write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

std::string pattern_text(std::size_t size, std::uint32_t seed) {
  std::string out(size, '\0');
  const Bytes bytes = pattern(size, seed);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(bytes[i]);
  return out;
}

std::string describe_entry(const fs::directory_entry& entry) {
  std::error_code failed;
  if (entry.is_symlink(failed)) return "link " + fs::read_symlink(entry.path(), failed).string();
  if (entry.is_directory(failed)) return "directory";
  if (!entry.is_regular_file(failed)) return "special";
  const std::uintmax_t size = entry.file_size(failed);
  if (failed || size > kLongestFile) return fmt::format("{} bytes", size);
  return "file " + contents_of(entry.path());
}

/// Describes the files and directories below `top`, at most kMostEntries of them. Does not follow symbolic links, and
/// does not enter directories that cannot be read.
Tree tree_below(const fs::path& top) {
  Tree out;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, failed), end;
       at != end && !failed && out.size() < kMostEntries; at.increment(failed))
    out.emplace(at->path().lexically_relative(top), describe_entry(*at));
  return out;
}

}  // namespace

Workplace::Workplace() {
  std::string name = (fs::temp_directory_path() / "rpcrdma-conform-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error(name + ": cannot create the temporary directory");
  top_ = name;
  for (const fs::path& each : {local(), source() / "folder", outside()}) fs::create_directories(each);
  write_file(source() / "short", "a short file\n");
  write_file(source() / "long", pattern_text(100003, 11));
  write_file(source() / "folder" / "nested", pattern_text(5000, 12));
  fs::create_symlink("short", source() / "link");
  write_file(outside() / "untouched", "not to be changed\n");
  write_file(output(), "");
  for (const auto& [path, contents] : tree_below(top_)) before_.emplace(path, contents);
}

Workplace::~Workplace() {
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(top_, ignored), end; at != end && !ignored; at.increment(ignored))
    if (at->is_directory(ignored) && !at->is_symlink(ignored))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
  fs::remove_all(top_, ignored);
}

Tree Workplace::local_tree() const { return tree_below(local()); }

std::vector<std::string> Workplace::changes_outside() const {
  std::vector<std::string> out;
  Tree now = tree_below(top_);
  std::erase_if(now, [](const auto& each) { return each.first.starts_with("local/") || each.first == "output"; });
  for (const auto& [path, contents] : now) {
    const auto before = before_.find(path);
    if (before == before_.end() || before->second != contents) out.push_back(top_ / path);
  }
  for (const auto& [path, contents] : before_)
    if (path != "output" && !now.contains(path)) out.push_back(top_ / path);
  return out;
}

std::string Workplace::end_of_output() const {
  std::ifstream file(output(), std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (size <= 0) return {};
  file.seekg(std::max<std::streamoff>(0, size - kOutputKept));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> damage(const Tree& wanted, const Tree& found) {
  std::vector<std::string> out;
  for (const auto& [path, contents] : wanted) {
    const auto at = found.find(path);
    if (at == found.end() || at->second != contents) out.push_back(path);
  }
  return out;
}

}  // namespace rpcrdma::conform::client
