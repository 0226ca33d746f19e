// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <fstream>

#include "file_system_test.hpp"

namespace rpcrdma::nfsd {
namespace {

using Namespace = FileSystemTest;

TEST_P(Namespace, RootIsADirectory) {
  EXPECT_EQ(stat(root_).type, FileType::directory);
  EXPECT_EQ(fs_->lookup(caller_, root_, ".").node, root_);
}

TEST_P(Namespace, DotDotOfTheRootIsTheRoot) {
  const NodeResult up = fs_->lookup(caller_, root_, "..");
  ASSERT_EQ(up.status, Status::ok);
  EXPECT_EQ(up.node, root_);
  EXPECT_EQ(up.attributes->fileid, stat(root_).fileid);
  const NodeKey deep = mkdir(mkdir(root_, "a"), "b");
  const NodeResult parent = fs_->lookup(caller_, deep, "..");
  ASSERT_EQ(parent.status, Status::ok);
  EXPECT_EQ(parent.node, fs_->lookup(caller_, root_, "a").node);
  EXPECT_EQ(fs_->lookup(caller_, parent.node, "..").node, root_);
}

TEST_P(Namespace, NamesAreOneComponent) {
  EXPECT_EQ(lookup(root_, ""), Status::acces);
  EXPECT_EQ(lookup(root_, "a/b"), Status::acces);
  EXPECT_EQ(lookup(root_, "../etc"), Status::acces);
  EXPECT_EQ(lookup(root_, "/etc"), Status::acces);
  EXPECT_EQ(lookup(root_, std::string_view("a\0b", 3)), Status::acces);
  EXPECT_EQ(lookup(root_, std::string(256, 'n')), Status::nametoolong);
  EXPECT_EQ(lookup(root_, std::string(255, 'n')), Status::noent);
  create(root_, std::string(255, 'n'));
  EXPECT_EQ(lookup(root_, std::string(255, 'n')), Status::ok);
  EXPECT_EQ(fs_->make_directory(caller_, root_, std::string(256, 'n'), {}).status, Status::nametoolong);
  EXPECT_EQ(fs_->create(caller_, root_, "x/y", {}).status, Status::acces);
}

TEST_P(Namespace, SpecialNamesCannotBeMadeOrRemoved) {
  EXPECT_EQ(fs_->create(caller_, root_, ".", {}).status, Status::exist);
  EXPECT_EQ(fs_->make_directory(caller_, root_, "..", {}).status, Status::exist);
  EXPECT_EQ(fs_->remove(caller_, root_, "..").status, Status::inval);
  EXPECT_EQ(fs_->remove_directory(caller_, root_, ".").status, Status::inval);
  EXPECT_EQ(fs_->remove_directory(caller_, root_, "..").status, Status::exist);
  create(root_, "f");
  EXPECT_EQ(fs_->rename(caller_, root_, "f", root_, "..").status, Status::inval);
  EXPECT_EQ(fs_->rename(caller_, root_, ".", root_, "g").status, Status::inval);
}

TEST_P(Namespace, CreateGuardedAndUnchecked) {
  CreateHow how;
  how.mode = CreateMode::guarded;
  how.attributes.mode = 0604;
  const NodeResult made = fs_->create(caller_, root_, "f", how);
  ASSERT_EQ(made.status, Status::ok);
  EXPECT_EQ(made.attributes->type, FileType::regular);
  EXPECT_EQ(made.attributes->mode, 0604u);
  EXPECT_EQ(made.attributes->links, 1u);
  ASSERT_TRUE(made.directory.before && made.directory.after);
  EXPECT_LT(made.directory.before->mtime, made.directory.after->mtime);
  EXPECT_EQ(fs_->create(caller_, root_, "f", how).status, Status::exist);
  write(made.node, 0, "content");

  how.mode = CreateMode::unchecked;
  how.attributes.mode = 0777;
  const NodeResult again = fs_->create(caller_, root_, "f", how);
  ASSERT_EQ(again.status, Status::ok);
  EXPECT_EQ(again.node, made.node);
  EXPECT_EQ(again.attributes->mode, 0604u) << "only the size counts for a file that exists";
  EXPECT_EQ(again.attributes->size, 7u);
  how.attributes.size = 0;
  EXPECT_EQ(fs_->create(caller_, root_, "f", how).attributes->size, 0u);
  mkdir(root_, "d");
  EXPECT_EQ(fs_->create(caller_, root_, "d", how).status, Status::exist);
}

TEST_P(Namespace, CreateExclusiveRecognizesARepeatedRequest) {
  CreateHow how;
  how.mode = CreateMode::exclusive;
  how.verifier = {std::byte{0x11}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{0x15}};
  const NodeResult made = fs_->create(caller_, root_, "f", how);
  ASSERT_EQ(made.status, Status::ok);
  const NodeResult again = fs_->create(caller_, root_, "f", how);
  ASSERT_EQ(again.status, Status::ok);
  EXPECT_EQ(again.node, made.node);
  how.verifier[1] = std::byte{9};
  EXPECT_EQ(fs_->create(caller_, root_, "f", how).status, Status::exist);
}

TEST_P(Namespace, CreateExclusiveMakesAFileThatOnlyItsOwnerMayOpen) {
  CreateHow how;
  how.mode = CreateMode::exclusive;
  const NodeResult made = fs_->create(caller_, root_, "f", how);
  ASSERT_EQ(made.status, Status::ok);
  EXPECT_EQ(made.attributes->mode, 0600u) << "the client sets the mode by SETATTR";
}

TEST_P(Namespace, DirectoriesDeeperThanTheLongestPath) {
  NodeKey directory = root_;
  NodeKey parent;
  const std::string name(200, 'n');
  for (int depth = 0; depth < 30; ++depth) {
    parent = directory;
    directory = mkdir(directory, name);
    ASSERT_EQ(fs_->attributes(directory).status, Status::ok) << depth;
  }
  const NodeKey file = create(directory, "f", "text");
  EXPECT_EQ(read_all(file), "text");
  EXPECT_EQ(fs_->lookup(caller_, directory, "..").node, parent);
  EXPECT_EQ(list(directory, 10), (std::multiset<std::string>{".", "..", "f"}));
  EXPECT_EQ(fs_->rename(caller_, directory, "f", root_, "up").status, Status::ok);
  EXPECT_EQ(fs_->remove_directory(caller_, parent, name).status, Status::ok);
  // Another process may be making an object with the inode number of the removed directory. During this time Linux
  // returns ENOMEM for the old handle, which the server maps to NFS3ERR_JUKEBOX.
  Status status = Status::jukebox;
  while (status == Status::jukebox) status = fs_->attributes(directory).status;
  EXPECT_EQ(status, Status::stale);
}

TEST_P(Namespace, NewObjectsBelongToTheCaller) {
  if (is_posix() && ::geteuid() != 0) GTEST_SKIP() << "needs root";
  const Attributes file = stat(create(root_, "f"));
  EXPECT_EQ(file.uid, caller_.uid);
  EXPECT_EQ(file.gid, caller_.gid);
  const NodeKey directory = mkdir(root_, "d");
  EXPECT_EQ(stat(directory).uid, caller_.uid);
  SetAttributes set_gid;
  set_gid.mode = 02777;
  set_gid.gid = 77;
  ASSERT_EQ(fs_->set_attributes(caller_, directory, set_gid, {}).status, Status::ok);
  set_gid = {};
  set_gid.mode = 02777;
  ASSERT_EQ(fs_->set_attributes(caller_, directory, set_gid, {}).status, Status::ok);
  EXPECT_EQ(stat(create(directory, "g")).gid, 77u) << "new files in a set-group-id directory inherit its group";
  const NodeResult link = fs_->make_symlink(caller_, root_, "l", "f", {});
  EXPECT_EQ(link.attributes->uid, caller_.uid);
}

TEST_P(Namespace, Directories) {
  const NodeKey directory = mkdir(root_, "d");
  EXPECT_EQ(stat(directory).type, FileType::directory);
  EXPECT_EQ(stat(directory).mode, 0755u);
  EXPECT_EQ(fs_->make_directory(caller_, root_, "d", {}).status, Status::exist);
  create(directory, "f");
  EXPECT_EQ(fs_->remove_directory(caller_, root_, "d").status, Status::notempty);
  EXPECT_EQ(fs_->remove(caller_, root_, "d").status, Status::isdir);
  EXPECT_EQ(fs_->remove_directory(caller_, directory, "f").status, Status::notdir);
  EXPECT_EQ(fs_->remove(caller_, directory, "f").status, Status::ok);
  const ChangeResult removed = fs_->remove_directory(caller_, root_, "d");
  EXPECT_EQ(removed.status, Status::ok);
  EXPECT_TRUE(removed.wcc.before && removed.wcc.after);
  EXPECT_EQ(fs_->attributes(directory).status, Status::stale);
  EXPECT_EQ(fs_->remove_directory(caller_, root_, "d").status, Status::noent);
}

TEST_P(Namespace, NotADirectory) {
  const NodeKey file = create(root_, "f");
  EXPECT_EQ(lookup(file, "x"), Status::notdir);
  EXPECT_EQ(fs_->create(caller_, file, "x", {}).status, Status::notdir);
  EXPECT_EQ(fs_->remove(caller_, file, "x").status, Status::notdir);
  EXPECT_EQ(fs_->read_directory(caller_, file, {}, [](const DirectoryEntry&) { return true; }).status, Status::notdir);
  EXPECT_EQ(fs_->rename(caller_, root_, "f", file, "x").status, Status::notdir);
}

TEST_P(Namespace, SymlinksAreNeverFollowed) {
  const NodeResult link = fs_->make_symlink(caller_, root_, "l", "/etc", {});
  ASSERT_EQ(link.status, Status::ok);
  EXPECT_EQ(link.attributes->type, FileType::symlink);
  EXPECT_EQ(link.attributes->size, 4u);
  EXPECT_EQ(fs_->read_link(link.node).target, "/etc");
  EXPECT_EQ(fs_->lookup(caller_, root_, "l").attributes->type, FileType::symlink);
  EXPECT_EQ(lookup(link.node, "passwd"), Status::notdir);
  std::string room(16, ' ');
  const BufferRef buffer = ref(room);
  EXPECT_EQ(fs_->read(caller_, link.node, 0, {&buffer, 1}).status, Status::inval);
  CreateHow how;
  EXPECT_EQ(fs_->create(caller_, root_, "l", how).status, Status::exist);
  EXPECT_EQ(fs_->read_link(root_).status, Status::inval);
  const std::string target(4000, 't');
  EXPECT_EQ(fs_->read_link(fs_->make_symlink(caller_, root_, "m", target, {}).node).target, target);
  EXPECT_EQ(fs_->make_symlink(caller_, root_, "n", std::string(5000, 't'), {}).status, Status::nametoolong);
  EXPECT_EQ(fs_->make_symlink(caller_, root_, "n", "", {}).status, Status::inval);
  EXPECT_EQ(fs_->remove(caller_, root_, "l").status, Status::ok);
}

TEST_P(Namespace, RenameReplacesOnlyATargetOfItsKind) {
  const NodeKey a = create(root_, "a", "A");
  const NodeKey b = create(root_, "b", "B");
  const NodeKey directory = mkdir(root_, "d");
  const RenameResult moved = fs_->rename(caller_, root_, "a", root_, "b");
  ASSERT_EQ(moved.status, Status::ok);
  EXPECT_TRUE(moved.from.before && moved.from.after && moved.to.before && moved.to.after);
  EXPECT_EQ(lookup(root_, "a"), Status::noent);
  EXPECT_EQ(read_all(fs_->lookup(caller_, root_, "b").node), "A");
  EXPECT_EQ(fs_->attributes(b).status, Status::stale);
  EXPECT_EQ(fs_->rename(caller_, root_, "b", root_, "d").status, Status::isdir);
  EXPECT_EQ(fs_->rename(caller_, root_, "d", root_, "b").status, Status::notdir);
  EXPECT_EQ(fs_->rename(caller_, root_, "missing", root_, "b").status, Status::noent);
  const NodeKey inner = mkdir(directory, "inner");
  EXPECT_EQ(fs_->rename(caller_, root_, "d", inner, "loop").status, Status::inval);
  ASSERT_EQ(fs_->rename(caller_, root_, "b", inner, "deep").status, Status::ok);
  EXPECT_EQ(read_all(a), "A") << "a handle stays valid across a rename";
  mkdir(root_, "e");
  EXPECT_EQ(fs_->rename(caller_, root_, "e", root_, "d").status, Status::notempty);
  EXPECT_EQ(fs_->rename(caller_, root_, "d", root_, "e").status, Status::ok);
  EXPECT_EQ(lookup(fs_->lookup(caller_, root_, "e").node, "inner"), Status::ok);
  EXPECT_EQ(fs_->lookup(caller_, inner, "..").node, directory);
}

TEST_P(Namespace, RenameOntoItselfChangesNothing) {
  const NodeKey a = create(root_, "a", "A");
  EXPECT_EQ(fs_->rename(caller_, root_, "a", root_, "a").status, Status::ok);
  ASSERT_EQ(fs_->link(caller_, a, root_, "b").status, Status::ok);
  EXPECT_EQ(fs_->rename(caller_, root_, "a", root_, "b").status, Status::ok);
  EXPECT_EQ(read_all(a), "A");
  EXPECT_EQ(stat(a).links, 2u);
}

TEST_P(Namespace, HardLinks) {
  const NodeKey file = create(root_, "f", "text");
  const NodeKey directory = mkdir(root_, "d");
  const LinkResult linked = fs_->link(caller_, file, directory, "g");
  ASSERT_EQ(linked.status, Status::ok);
  EXPECT_EQ(linked.file->links, 2u);
  EXPECT_TRUE(linked.directory.before && linked.directory.after);
  EXPECT_EQ(fs_->link(caller_, file, directory, "g").status, Status::exist);
  EXPECT_EQ(fs_->link(caller_, directory, root_, "h").status, Status::isdir);
  EXPECT_EQ(fs_->remove(caller_, root_, "f").status, Status::ok);
  const NodeResult other = fs_->lookup(caller_, directory, "g");
  ASSERT_EQ(other.status, Status::ok);
  EXPECT_EQ(read_all(other.node), "text");
  EXPECT_EQ(fs_->remove(caller_, directory, "g").status, Status::ok);
  EXPECT_EQ(fs_->attributes(other.node).status, Status::stale);
}

TEST_P(Namespace, SpecialFiles) {
  EXPECT_EQ(fs_->make_node(caller_, root_, "dev", FileType::character, {1, 3}, {}).status, Status::perm);
  const NodeResult fifo = fs_->make_node(caller_, root_, "fifo", FileType::fifo, {}, {});
  ASSERT_EQ(fifo.status, Status::ok);
  EXPECT_EQ(fifo.attributes->type, FileType::fifo);
  std::string room(16, ' ');
  const BufferRef buffer = ref(room);
  EXPECT_EQ(fs_->read(caller_, fifo.node, 0, {&buffer, 1}).status, Status::inval) << "it does not block";
  const NodeResult socket = fs_->make_node(caller_, root_, "socket", FileType::socket, {}, {});
  ASSERT_EQ(socket.status, Status::ok);
  EXPECT_EQ(socket.attributes->type, FileType::socket);
  EXPECT_EQ(fs_->write(caller_, socket.node, 0, {&buffer, 1}, Stable::unstable).status, Status::inval);
}

TEST_P(Namespace, ForeignKeysAreRefused) {
  std::array<std::byte, 12> junk{};
  EXPECT_EQ(fs_->attributes(NodeKey(junk)).status, Status::badhandle);
  EXPECT_EQ(fs_->attributes(NodeKey()).status, Status::badhandle);
  const NodeKey file = create(root_, "f");
  std::vector<std::byte> other(file.octets().begin(), file.octets().end());
  for (std::byte& byte : other) byte ^= std::byte{0xff};
  EXPECT_NE(fs_->attributes(NodeKey(other)).status, Status::ok);
}

TEST_P(Namespace, Statistics) {
  const StatisticsResult result = fs_->statistics(root_);
  ASSERT_EQ(result.status, Status::ok);
  EXPECT_GT(result.statistics.total_octets, 0u);
  EXPECT_LE(result.statistics.available_octets, result.statistics.free_octets);
  EXPECT_LE(result.statistics.free_octets, result.statistics.total_octets);
  EXPECT_EQ(fs_->limits().max_name, 255u);
}

INSTANTIATE_TEST_SUITE_P(Backends, Namespace, ::testing::Values(Kind::posix_handles, Kind::posix_hints, Kind::memory),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
