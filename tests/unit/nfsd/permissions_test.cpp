// SPDX-License-Identifier: BSD-3-Clause
// What users may do with each other's files. The results are the same on every back end.
#include <sys/fsuid.h>
#include <unistd.h>

#include <thread>

#include "acting.hpp"
#include "file_system_test.hpp"
#include "rpcrdma/nfsd/fs/access.hpp"

namespace rpcrdma::nfsd {
namespace {

class Permissions : public FileSystemTest {
 protected:
  void SetUp() override {
    if (is_posix() && ::geteuid() != 0) GTEST_SKIP() << "needs root";
    FileSystemTest::SetUp();
    root_user_.uid = root_user_.gid = 0;
    other_.uid = 2222;
    other_.gid = 3333;
    member_ = other_;
    member_.groups = {9, 4321};
  }
  Status read(const Caller& who, const NodeKey& file) {
    std::string room(64, ' ');
    const BufferRef buffer = ref(room);
    return fs_->read(who, file, 0, {&buffer, 1}).status;
  }
  Status write(const Caller& who, const NodeKey& file, std::string text = "changed") {
    const BufferRef buffer = ref(text);
    return fs_->write(who, file, 0, {&buffer, 1}, Stable::unstable).status;
  }
  Status set_mode(const Caller& who, const NodeKey& node, std::uint32_t mode) {
    SetAttributes changes;
    changes.mode = mode;
    return fs_->set_attributes(who, node, changes, {}).status;
  }
  Status set_size(const Caller& who, const NodeKey& node, std::uint64_t size) {
    SetAttributes changes;
    changes.size = size;
    changes.mtime.how = SetTime::How::server;  // a client that truncates a file sends this, too
    return fs_->set_attributes(who, node, changes, {}).status;
  }
  Status make(const Caller& who, const NodeKey& directory, std::string_view name) {
    return fs_->create(who, directory, name, {}).status;
  }
  Status list(const Caller& who, const NodeKey& directory) {
    return fs_->read_directory(who, directory, {}, [](const DirectoryEntry&) { return true; }).status;
  }
  std::uint32_t granted(const Caller& who, const NodeKey& node) {
    const AccessResult result = fs_->access(who, node, 63);
    EXPECT_EQ(result.status, Status::ok);
    return result.granted;
  }

  Caller root_user_;
  Caller other_;
  Caller member_;  // belongs to the group of `caller_`
};

TEST_P(Permissions, DataFollowsTheMode) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0640), Status::ok);
  EXPECT_EQ(read(caller_, file), Status::ok);
  EXPECT_EQ(read(member_, file), Status::ok);
  EXPECT_EQ(write(member_, file), Status::acces);
  EXPECT_EQ(set_size(member_, file, 0), Status::acces);
  EXPECT_EQ(read(other_, file), Status::acces);
  EXPECT_EQ(write(other_, file), Status::acces);
  EXPECT_EQ(fs_->commit(other_, file, 0, 0).status, Status::acces);
  EXPECT_EQ(read(root_user_, file), Status::ok);
  EXPECT_EQ(write(root_user_, file), Status::ok);
  ASSERT_EQ(set_mode(caller_, file, 0662), Status::ok);
  EXPECT_EQ(write(member_, file), Status::ok);
  EXPECT_EQ(write(other_, file), Status::ok) << "writing needs no right to read";
  EXPECT_EQ(read(other_, file), Status::acces);
  EXPECT_EQ(set_size(other_, file, 2), Status::ok);
  EXPECT_EQ(stat(file).size, 2u);
}

TEST_P(Permissions, ARightTakenAwayIsGoneAtOnce) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0666), Status::ok);
  EXPECT_EQ(read(other_, file), Status::ok);
  EXPECT_EQ(write(other_, file), Status::ok);
  ASSERT_EQ(set_mode(caller_, file, 0600), Status::ok);
  EXPECT_EQ(read(other_, file), Status::acces);
  EXPECT_EQ(write(other_, file), Status::acces);
  ASSERT_EQ(set_mode(caller_, file, 0604), Status::ok);
  EXPECT_EQ(read(other_, file), Status::ok);
}

TEST_P(Permissions, TheOwnerContinuesWithAnOpenFileWhateverItsMode) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0), Status::ok);
  EXPECT_EQ(write(caller_, file, "more"), Status::ok);
  EXPECT_EQ(read(caller_, file), Status::ok);
  EXPECT_EQ(set_size(caller_, file, 1), Status::ok);
  EXPECT_EQ(fs_->commit(caller_, file, 0, 0).status, Status::ok);
  EXPECT_EQ(granted(caller_, file), 0u) << "ACCESS gives the answer of open(2)";
  EXPECT_EQ(read(member_, file), Status::acces);
}

TEST_P(Permissions, AProgramThatMayOnlyBeRunIsReadToRunIt) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0711), Status::ok);
  EXPECT_EQ(read(other_, file), Status::ok);
  EXPECT_EQ(write(other_, file), Status::acces);
  EXPECT_EQ(granted(other_, file), access::kExecute);
}

TEST_P(Permissions, NamesFollowTheModeOfTheDirectory) {
  const NodeKey directory = mkdir(root_, "d");
  const NodeKey file = create(directory, "f", "text");
  ASSERT_EQ(set_mode(caller_, directory, 0755), Status::ok);
  EXPECT_EQ(make(other_, directory, "g"), Status::acces);
  EXPECT_EQ(fs_->make_directory(other_, directory, "g", {}).status, Status::acces);
  EXPECT_EQ(fs_->make_symlink(other_, directory, "g", "x", {}).status, Status::acces);
  EXPECT_EQ(fs_->make_node(other_, directory, "g", FileType::fifo, {}, {}).status, Status::acces);
  EXPECT_EQ(fs_->remove(other_, directory, "f").status, Status::acces);
  EXPECT_EQ(fs_->rename(other_, directory, "f", root_, "f").status, Status::acces);
  ASSERT_EQ(make(other_, root_, "mine"), Status::ok);
  EXPECT_EQ(fs_->rename(other_, root_, "mine", directory, "g").status, Status::acces);
  EXPECT_EQ(fs_->link(other_, fs_->lookup(other_, root_, "mine").node, directory, "g").status, Status::acces);
  ASSERT_EQ(set_mode(caller_, directory, 0777), Status::ok);
  EXPECT_EQ(make(other_, directory, "g"), Status::ok);
  EXPECT_EQ(fs_->remove(other_, directory, "f").status, Status::ok) << "the file may belong to another user";
  EXPECT_EQ(fs_->attributes(file).status, Status::stale);
}

// A thread may keep the identity of its last caller: other callers do not gain that caller's rights, and the server
// does not lose its own.
TEST_P(Permissions, AThreadMayKeepTheIdentityOfItsLastCaller) {
  Caller strict = other_;
  strict.sync = true;
  std::thread([&] {
    keep_identities();
    const auto open_again = [this] {
      if (!is_posix()) return;
      act_as_server();  // a file system is opened with the server's identity, not with one that the thread keeps
      fs_ = FileSystemTest::make();
    };
    const NodeKey mine = mkdir(root_, "mine");
    const NodeKey theirs = fs_->make_directory(other_, root_, "theirs", {}).node;
    ASSERT_EQ(set_mode(caller_, mine, 0700), Status::ok);
    ASSERT_EQ(set_mode(other_, theirs, 0300), Status::ok);
    for (const std::string name : {"a", "b", "c"}) {
      EXPECT_EQ(make(strict, theirs, name), Status::ok) << "its directory is opened for fsync by the server";
      EXPECT_EQ(make(caller_, theirs, "not-" + name), Status::acces);
      EXPECT_EQ(make(other_, mine, "not-" + name), Status::acces);
      EXPECT_EQ(make(caller_, mine, name), Status::ok);
      EXPECT_EQ(make(root_user_, theirs, "root-" + name), Status::ok);
      EXPECT_EQ(fs_->remove(other_, mine, name).status, Status::acces);
      EXPECT_EQ(fs_->rename(caller_, theirs, name, mine, "moved-" + name).status, Status::acces);
      open_again();
      EXPECT_EQ(fs_->remove(strict, theirs, name).status, Status::ok) << "the server opens the directory by its handle";
      EXPECT_EQ(make(other_, mine, "not-" + name), Status::acces);
      EXPECT_EQ(lookup(mine, name), Status::ok);
      EXPECT_EQ(fs_->rename(caller_, mine, name, mine, "moved-" + name).status, Status::ok);
      open_again();
      EXPECT_EQ(stat(mine).mode, 0700u);
      EXPECT_EQ(fs_->make_directory(caller_, mine, "d-" + name, {}).status, Status::ok);
      EXPECT_EQ(fs_->rename(caller_, mine, "d-" + name, root_, "d-" + name).status, Status::ok);
    }
    EXPECT_EQ(list(other_, mine), Status::acces);
    EXPECT_EQ(list(root_user_, theirs), Status::ok);
    EXPECT_EQ(fs_->remove(caller_, mine, "moved-a").status, Status::ok);
    fs_->tidy();
    EXPECT_EQ(static_cast<::uid_t>(::setfsuid(-1)), ::geteuid()) << "tidy() writes files of the server";
  }).join();
}

TEST_P(Permissions, AnExistingNameIsReportedBeforeAMissingRight) {
  const NodeKey directory = mkdir(root_, "d");
  create(directory, "f", "text");
  ASSERT_EQ(set_mode(caller_, directory, 0755), Status::ok);
  ASSERT_EQ(make(other_, root_, "mine"), Status::ok);
  const NodeKey mine = fs_->lookup(other_, root_, "mine").node;
  const auto expect_all = [&](const Caller& who, Status expected) {
    CreateHow how;
    how.mode = CreateMode::exclusive;
    how.verifier = {std::byte{1}, std::byte{2}};
    EXPECT_EQ(fs_->create(who, directory, "f", how).status, expected);
    how.mode = CreateMode::guarded;
    EXPECT_EQ(fs_->create(who, directory, "f", how).status, expected);
    how.attributes.mtime = {SetTime::How::client, {1, 1'000'000'000}};
    EXPECT_EQ(fs_->create(who, directory, "f", how).status, expected) << "whatever else is wrong with the request";
    EXPECT_EQ(fs_->make_directory(who, directory, "f", {}).status, expected);
    EXPECT_EQ(fs_->make_directory(who, directory, "f", how.attributes).status, expected);
    EXPECT_EQ(fs_->make_symlink(who, directory, "f", "x", {}).status, expected);
    EXPECT_EQ(fs_->make_node(who, directory, "f", FileType::fifo, {}, {}).status, expected);
    EXPECT_EQ(fs_->make_node(who, directory, "f", FileType::block, {1, 1}, {}).status, expected);
    EXPECT_EQ(fs_->link(who, mine, directory, "f").status, expected);
  };
  expect_all(other_, Status::exist);
  EXPECT_EQ(fs_->make_node(other_, directory, "new", FileType::block, {1, 1}, {}).status, Status::perm);
  ASSERT_EQ(set_mode(caller_, directory, 0744), Status::ok);
  expect_all(other_, Status::acces);
}

TEST_P(Permissions, ARepeatedExclusiveCreateNeedsNoRightToWrite) {
  const NodeKey directory = mkdir(root_, "d");
  ASSERT_EQ(set_mode(caller_, directory, 0777), Status::ok);
  CreateHow how;
  how.mode = CreateMode::exclusive;
  how.verifier = {std::byte{1}, std::byte{2}};
  const NodeResult first = fs_->create(other_, directory, "f", how);
  ASSERT_EQ(first.status, Status::ok);
  ASSERT_EQ(set_mode(caller_, directory, 0755), Status::ok);
  const NodeResult again = fs_->create(other_, directory, "f", how);
  EXPECT_EQ(again.status, Status::ok);
  EXPECT_TRUE(again.node == first.node);
  EXPECT_EQ(fs_->create(other_, directory, "g", how).status, Status::acces);
}

TEST_P(Permissions, AStickyDirectoryProtectsItsFiles) {
  const NodeKey directory = mkdir(root_, "d");
  ASSERT_EQ(set_mode(caller_, directory, 01777), Status::ok);
  ASSERT_EQ(make(other_, directory, "f"), Status::ok);
  ASSERT_EQ(make(member_, directory, "g"), Status::ok);
  Caller third = other_;
  third.uid = 5555;
  EXPECT_EQ(fs_->remove(third, directory, "f").status, Status::perm);
  EXPECT_EQ(fs_->rename(third, directory, "f", root_, "f").status, Status::perm);
  ASSERT_EQ(make(third, directory, "h"), Status::ok);
  EXPECT_EQ(fs_->rename(third, directory, "h", directory, "f").status, Status::perm);
  EXPECT_EQ(fs_->remove(other_, directory, "f").status, Status::ok);
  EXPECT_EQ(fs_->remove(caller_, directory, "g").status, Status::ok) << "the directory's owner may remove it";
  EXPECT_EQ(fs_->remove(root_user_, directory, "h").status, Status::ok);
}

TEST_P(Permissions, SearchingAndListingAreTwoRights) {
  const NodeKey directory = mkdir(root_, "d");
  create(directory, "f", "text");
  ASSERT_EQ(set_mode(caller_, directory, 0711), Status::ok);
  EXPECT_EQ(fs_->lookup(other_, directory, "f").status, Status::ok);
  EXPECT_EQ(fs_->lookup(other_, directory, "g").status, Status::noent);
  EXPECT_EQ(list(other_, directory), Status::acces);
  ASSERT_EQ(set_mode(caller_, directory, 0744), Status::ok);
  EXPECT_EQ(fs_->lookup(other_, directory, "f").status, Status::acces);
  EXPECT_EQ(fs_->lookup(other_, directory, "..").status, Status::acces);
  DirectoryRequest request;
  request.want_nodes = true;
  std::size_t bare = 0;
  const auto sink = [&](const DirectoryEntry& entry) {
    if (entry.name == "f" && !entry.attributes && entry.node.empty()) ++bare;
    return true;
  };
  EXPECT_EQ(fs_->read_directory(other_, directory, request, sink).status, Status::ok);
  EXPECT_EQ(bare, 1u) << "one entry, with a name only";
}

TEST_P(Permissions, WithoutTheRightToSearchAnExistingNameIsNotReported) {
  const NodeKey directory = mkdir(root_, "d");
  create(directory, "file");
  mkdir(directory, "folder");
  ASSERT_EQ(set_mode(caller_, directory, 0766), Status::ok);
  for (const char* name : {"file", "folder", "missing"}) {
    EXPECT_EQ(fs_->lookup(other_, directory, name).status, Status::acces) << name;
    EXPECT_EQ(fs_->remove(other_, directory, name).status, Status::acces) << name;
    EXPECT_EQ(fs_->remove_directory(other_, directory, name).status, Status::acces) << name;
    EXPECT_EQ(fs_->rename(other_, directory, name, root_, "x").status, Status::acces) << name;
    EXPECT_EQ(fs_->make_directory(other_, directory, name, {}).status, Status::acces) << name;
    EXPECT_EQ(make(other_, directory, name), Status::acces) << name;
  }
  EXPECT_EQ(fs_->remove(caller_, directory, "missing").status, Status::noent);
}

TEST_P(Permissions, AttributesAreTheOwnersToChange) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0666), Status::ok);
  EXPECT_EQ(set_mode(other_, file, 0777), Status::perm);
  SetAttributes changes;
  changes.uid = other_.uid;
  EXPECT_EQ(fs_->set_attributes(other_, file, changes, {}).status, Status::perm);
  EXPECT_EQ(fs_->set_attributes(caller_, file, changes, {}).status, Status::perm) << "only root gives files away";
  changes = {};
  changes.gid = 77;
  EXPECT_EQ(fs_->set_attributes(caller_, file, changes, {}).status, Status::ok)
      << "the owner may select one of its groups";
  changes.gid = 78;
  EXPECT_EQ(fs_->set_attributes(caller_, file, changes, {}).status, Status::perm);
  changes = {};
  changes.mtime = {SetTime::How::client, {5, 5}};
  EXPECT_EQ(fs_->set_attributes(other_, file, changes, {}).status, Status::perm);
  changes.mtime = {};
  changes.mtime.how = SetTime::How::server;
  EXPECT_EQ(fs_->set_attributes(other_, file, changes, {}).status, Status::ok)
      << "the right to write includes setting the times to now";
  ASSERT_EQ(set_mode(caller_, file, 0644), Status::ok);
  EXPECT_EQ(fs_->set_attributes(other_, file, changes, {}).status, Status::acces);
  changes = {};
  changes.uid = other_.uid;
  EXPECT_EQ(fs_->set_attributes(root_user_, file, changes, {}).status, Status::ok);
  EXPECT_EQ(stat(file).uid, other_.uid);
}

TEST_P(Permissions, SetIdBitsAreClearedWhenAnotherUserWrites) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 06777), Status::ok);
  EXPECT_EQ(write(other_, file), Status::ok);
  EXPECT_EQ(stat(file).mode, 0777u);
  ASSERT_EQ(set_mode(caller_, file, 04777), Status::ok);
  EXPECT_EQ(set_size(other_, file, 1), Status::ok);
  EXPECT_EQ(stat(file).mode, 0777u);
  SetAttributes foreign;
  foreign.gid = 3333;
  ASSERT_EQ(fs_->set_attributes(root_user_, file, foreign, {}).status, Status::ok);
  ASSERT_EQ(set_mode(caller_, file, 02755), Status::ok);
  EXPECT_EQ(stat(file).mode, 0755u) << "only a member of the group may set set-group-id";
}

// The file has the set-group-ID bit, but the group has no execute permission. When a user who is not in the group
// writes to such a file, older kernels keep the bit and newer kernels clear it. For the POSIX back end the test accepts
// both results.
TEST_P(Permissions, SetIdBitsWithoutTheGroupsRightToExecute) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 06766), Status::ok);
  EXPECT_EQ(write(member_, file), Status::ok);
  EXPECT_EQ(stat(file).mode, 02766u) << "the group is the writer's own";
  ASSERT_EQ(set_mode(caller_, file, 06766), Status::ok);
  EXPECT_EQ(write(root_user_, file), Status::ok);
  EXPECT_EQ(stat(file).mode, 06766u) << "root keeps them";
  EXPECT_EQ(write(other_, file), Status::ok);
  EXPECT_EQ(stat(file).mode & (is_posix() ? ~02000u : ~0u), 0766u);
  ASSERT_EQ(set_mode(caller_, file, 06766), Status::ok);
  EXPECT_EQ(write(caller_, file), Status::ok);
  EXPECT_EQ(stat(file).mode, 02766u) << "writing by the owner clears set-user-id, too";
}

TEST_P(Permissions, ANewOwnerClearsSetIdBits) {
  CreateHow how;
  how.attributes.mode = 06755;
  how.attributes.uid = 4;
  const NodeResult given = fs_->create(root_user_, root_, "given", how);
  ASSERT_EQ(given.status, Status::ok);
  EXPECT_EQ(given.attributes->mode, 0755u);
  EXPECT_EQ(given.attributes->uid, 4u);
  how.attributes.uid.reset();
  const NodeResult kept = fs_->create(root_user_, root_, "kept", how);
  ASSERT_EQ(kept.status, Status::ok);
  EXPECT_EQ(kept.attributes->mode, 06755u);
  SetAttributes changes;
  changes.uid = 5;
  changes.mode = 06755;
  EXPECT_EQ(fs_->set_attributes(root_user_, kept.node, changes, {}).status, Status::ok);
  EXPECT_EQ(stat(kept.node).mode, 0755u) << "cleared even if the same request sets them";
  changes.mode = 06745;
  EXPECT_EQ(fs_->set_attributes(root_user_, kept.node, changes, {}).status, Status::ok);
  EXPECT_EQ(stat(kept.node).mode, 02745u);
  const NodeResult fifo = fs_->make_node(root_user_, root_, "p", FileType::fifo, {}, how.attributes);
  ASSERT_EQ(fifo.status, Status::ok);
  changes.mode.reset();
  EXPECT_EQ(fs_->set_attributes(root_user_, fifo.node, changes, {}).status, Status::ok);
  EXPECT_EQ(stat(fifo.node).mode, 0755u);
  const NodeKey directory = mkdir(root_, "d");
  changes.mode = 02755;
  EXPECT_EQ(fs_->set_attributes(root_user_, directory, changes, {}).status, Status::ok);
  EXPECT_EQ(stat(directory).mode, 02755u) << "the bits of a directory are kept: they have another meaning";
}

TEST_P(Permissions, ANewFileWithoutSizeKeepsTheSetIdBitsItIsMadeWith) {
  CreateHow how;
  how.attributes.mode = 06755;
  how.attributes.gid = caller_.gid;
  how.attributes.size = 0;
  const NodeResult made = fs_->create(caller_, root_, "f", how);
  ASSERT_EQ(made.status, Status::ok);
  EXPECT_EQ(stat(made.node).mode & 04777u, 04755u);
}

TEST_P(Permissions, TheModeOfASymbolicLinkIsIgnored) {
  const NodeKey link = fs_->make_symlink(caller_, root_, "l", "target", {}).node;
  const std::uint32_t mode = stat(link).mode;
  EXPECT_EQ(set_mode(caller_, link, 0600), Status::ok);
  EXPECT_EQ(set_mode(other_, link, 0600), Status::ok) << "the mode of a link cannot be changed, and is ignored";
  SetAttributes changes;
  changes.mode = 04711;
  changes.uid = 5;
  changes.mtime = {SetTime::How::client, {5, 5}};
  EXPECT_EQ(fs_->set_attributes(other_, link, changes, {}).status, Status::perm) << "other attributes are checked";
  EXPECT_EQ(fs_->set_attributes(root_user_, link, changes, {}).status, Status::ok);
  EXPECT_EQ(stat(link).mode, mode);
  EXPECT_EQ(stat(link).uid, 5u);
  EXPECT_EQ(stat(link).mtime, (Time{5, 5}));
}

TEST_P(Permissions, NewFilesInASetGroupIdDirectory) {
  const NodeKey directory = mkdir(root_, "d");
  SetAttributes group;
  group.gid = 4321;
  group.mode = 02777;
  ASSERT_EQ(fs_->set_attributes(caller_, directory, group, {}).status, Status::ok);
  const auto mode_of_new = [&](const Caller& who, std::string_view name, std::uint32_t mode) {
    CreateHow how;
    how.attributes.mode = mode;
    const NodeResult made = fs_->create(who, directory, name, how);
    EXPECT_EQ(made.status, Status::ok);
    EXPECT_EQ(made.attributes->gid, 4321u);
    return made.attributes->mode;
  };
  EXPECT_EQ(mode_of_new(member_, "a", 02755), 02755u);
  EXPECT_EQ(mode_of_new(other_, "b", 02755), 0755u);
  EXPECT_EQ(mode_of_new(other_, "c", 02745), 02745u);
}

TEST_P(Permissions, ARequestIsCheckedAsAWhole) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0666), Status::ok);
  const auto set = [&](const Caller& who, SetAttributes changes) {
    return fs_->set_attributes(who, file, changes, {}).status;
  };
  const SetTime now{SetTime::How::server, {}};
  const SetTime then{SetTime::How::client, {5, 5}};
  EXPECT_EQ(set(other_, {.atime = now}), Status::ok);
  EXPECT_EQ(set(other_, {.mtime = now}), Status::ok);
  EXPECT_EQ(set(other_, {.atime = now, .mtime = now}), Status::ok);
  EXPECT_EQ(set(other_, {.atime = now, .mtime = then}), Status::perm);
  EXPECT_EQ(set(other_, {.size = 3, .mtime = now}), Status::ok);
  EXPECT_EQ(set(other_, {.size = 2, .mtime = then}), Status::perm);
  EXPECT_EQ(set(other_, {.gid = 3333}), Status::perm);
  EXPECT_EQ(set(caller_, {.gid = 3333}), Status::perm);
  EXPECT_EQ(set(caller_, {.uid = caller_.uid, .gid = 77}), Status::ok);
  EXPECT_EQ(set(other_, {.mtime = {SetTime::How::client, {5, 1'000'000'000}}}), Status::inval);
  const Attributes before = stat(file);
  EXPECT_EQ(before.size, 2u) << "truncated before the rest was refused, as Linux does";
  EXPECT_EQ(set(caller_, {}), Status::ok);
  EXPECT_EQ(stat(file).ctime, before.ctime) << "the request was empty";
  ASSERT_EQ(set_mode(caller_, file, 0644), Status::ok);
  EXPECT_EQ(set(other_, {.size = 0, .mtime = then}), Status::acces);
  EXPECT_EQ(set(other_, {.atime = now}), Status::acces);
  EXPECT_EQ(set(other_, {.atime = now, .mtime = now}), Status::acces);
}

TEST_P(Permissions, WhatIsCreatedBelongsToItsMaker) {
  CreateHow how;
  how.attributes.mode = 0604;
  how.attributes.uid = 0;  // ignored, as only root may set it
  const NodeResult made = fs_->create(other_, root_, "f", how);
  ASSERT_EQ(made.status, Status::ok);
  EXPECT_EQ(made.attributes->uid, other_.uid);
  EXPECT_EQ(made.attributes->gid, other_.gid);
  EXPECT_EQ(made.attributes->mode, 0604u);
  how.attributes.uid = 4;
  how.attributes.gid = 5;
  const NodeResult given = fs_->create(root_user_, root_, "g", how);
  ASSERT_EQ(given.status, Status::ok);
  EXPECT_EQ(given.attributes->uid, 4u);
  EXPECT_EQ(given.attributes->gid, 5u);
  const NodeResult device = fs_->make_node(root_user_, root_, "null", FileType::character, {1, 3}, {});
  EXPECT_EQ(device.status, Status::ok);
}

TEST_P(Permissions, CreatingAnExistingFileNeedsTheRightToTruncateIt) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0644), Status::ok);
  CreateHow how;
  EXPECT_EQ(fs_->create(other_, root_, "f", how).status, Status::ok);
  how.attributes.size = 0;
  EXPECT_EQ(fs_->create(other_, root_, "f", how).status, Status::acces);
  EXPECT_EQ(stat(file).size, 4u);
}

TEST_P(Permissions, AccessForEachOfThem) {
  const NodeKey file = create(root_, "f", "text");
  ASSERT_EQ(set_mode(caller_, file, 0754), Status::ok);
  using namespace access;
  EXPECT_EQ(granted(caller_, file), kRead | kModify | kExtend | kExecute);
  EXPECT_EQ(granted(member_, file), kRead | kExecute);
  EXPECT_EQ(granted(other_, file), kRead);
  EXPECT_EQ(granted(root_user_, file), kRead | kModify | kExtend | kExecute);
  const NodeKey directory = mkdir(root_, "d");
  ASSERT_EQ(set_mode(caller_, directory, 0751), Status::ok);
  EXPECT_EQ(granted(caller_, directory), kRead | kLookup | kModify | kExtend | kDelete);
  EXPECT_EQ(granted(member_, directory), kRead | kLookup);
  EXPECT_EQ(granted(other_, directory), kLookup);
  const NodeResult link = fs_->make_symlink(caller_, root_, "l", "f", {});
  EXPECT_NE(granted(other_, link.node) & kRead, 0u);
}

INSTANTIATE_TEST_SUITE_P(Backends, Permissions, ::testing::Values(Kind::posix_handles, Kind::posix_hints, Kind::memory),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
