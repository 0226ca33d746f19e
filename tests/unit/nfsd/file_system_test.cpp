// SPDX-License-Identifier: BSD-3-Clause
#include "file_system_test.hpp"

namespace rpcrdma::nfsd {

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::posix_handles: return "PosixHandles";
    case Kind::posix_hints: return "PosixHints";
    case Kind::memory: break;
  }
  return "Memory";
}

std::unique_ptr<FileSystem> FileSystemTest::make() {
  fs_.reset();  // closes the hint file, if there is one, before the new file system opens it
  if (GetParam() == Kind::memory) return make_memory_file_system(pages_);
  PosixOptions options;
  options.root = directory_.path();
  options.hint_file = state_.path() / "hints";
  options.kernel_handles = GetParam() == Kind::posix_handles;
  auto made = make_posix_file_system(options, Log{});
  if (!made) throw std::runtime_error(made.error().message());
  return std::move(*made);
}

void FileSystemTest::SetUp() {
  fs_ = make();
  root_ = fs_->root();
  caller_.uid = 1234;
  caller_.gid = 4321;
  caller_.groups = {77};
  caller_.sync = false;  // few tests need synchronous changes
}

NodeKey FileSystemTest::create(const NodeKey& directory, std::string_view name, std::string_view content) {
  CreateHow how;
  how.mode = CreateMode::guarded;
  how.attributes.mode = 0640;
  const NodeResult made = fs_->create(caller_, directory, name, how);
  EXPECT_EQ(made.status, Status::ok) << name;
  if (!content.empty()) {
    EXPECT_EQ(write(made.node, 0, content).count, content.size());
  }
  return made.node;
}

NodeKey FileSystemTest::mkdir(const NodeKey& directory, std::string_view name) {
  const NodeResult made = fs_->make_directory(caller_, directory, name, {});
  EXPECT_EQ(made.status, Status::ok) << name;
  return made.node;
}

Status FileSystemTest::lookup(const NodeKey& directory, std::string_view name) {
  return fs_->lookup(caller_, directory, name).status;
}

std::string FileSystemTest::read_all(const NodeKey& node, std::uint32_t at_once) {
  std::string all;
  for (bool eof = false; !eof;) {
    std::string part(at_once, '?');
    const BufferRef buffer = ref(part);
    const ReadResult got = fs_->read(caller_, node, all.size(), {&buffer, 1});
    EXPECT_EQ(got.status, Status::ok);
    if (got.status != Status::ok) break;
    eof = got.eof;
    all += part.substr(0, got.count);
  }
  return all;
}

WriteResult FileSystemTest::write(const NodeKey& node, std::uint64_t offset, std::string_view data, Stable stable) {
  std::string copy(data);
  const BufferRef buffer = ref(copy);
  const WriteResult result = fs_->write(caller_, node, offset, {&buffer, 1}, stable);
  EXPECT_EQ(result.status, Status::ok);
  return result;
}

Attributes FileSystemTest::stat(const NodeKey& node) {
  const AttributesResult result = fs_->attributes(node);
  EXPECT_EQ(result.status, Status::ok);
  return result.attributes.value_or(Attributes{});
}

std::multiset<std::string> FileSystemTest::list(const NodeKey& directory, std::size_t per_reply,
                                                const std::function<void(std::size_t)>& between) {
  std::multiset<std::string> names;
  DirectoryRequest request;
  for (bool eof = false; !eof;) {
    std::size_t taken = 0;
    const DirectoryResult result = fs_->read_directory(caller_, directory, request, [&](const DirectoryEntry& entry) {
      if (taken == per_reply) return false;
      ++taken;
      names.emplace(entry.name);
      request.cookie = entry.cookie;
      return true;
    });
    EXPECT_EQ(result.status, Status::ok);
    if (result.status != Status::ok) break;
    request.verifier = result.verifier;
    eof = result.eof;
    if (!eof && taken == 0) {
      ADD_FAILURE() << "no progress";
      break;
    }
    if (between) between(names.size());
  }
  return names;
}

}  // namespace rpcrdma::nfsd
