// SPDX-License-Identifier: BSD-3-Clause
#include "file_system_test.hpp"

namespace rpcrdma::nfsd {
namespace {

using Listing = FileSystemTest;

TEST_P(Listing, EmptyDirectoryHasTheSpecialNamesOnly) {
  EXPECT_EQ(list(mkdir(root_, "d"), 10), (std::multiset<std::string>{".", ".."}));
}

TEST_P(Listing, EveryNameOnce) {
  std::multiset<std::string> expected{".", ".."};
  for (int i = 0; i < 1500; ++i) {
    const std::string name = "entry-" + std::to_string(i);
    expected.insert(name);
    create(root_, name);
  }
  for (const std::size_t per_reply : {1u, 7u, 1000u, 5000u}) EXPECT_EQ(list(root_, per_reply), expected);
}

// A listing contains each name that exists during the whole listing exactly once, whatever names are added and removed.
TEST_P(Listing, ChangesMeanwhileLoseNothing) {
  std::set<std::string> lasting;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = (i % 4 == 0 ? "gone-" : "stays-") + std::to_string(i);
    create(root_, name);
    if (i % 4 != 0) lasting.insert(name);
  }
  int removed = 0;
  int added = 0;
  const auto seen = list(root_, 97, [&](std::size_t) {
    for (int i = 0; i < 40 && removed < 10'000; ++i, removed += 4)
      ASSERT_EQ(fs_->remove(caller_, root_, "gone-" + std::to_string(removed)).status, Status::ok);
    for (int i = 0; i < 10; ++i) create(root_, "new-" + std::to_string(added++));
  });
  for (const std::string& name : lasting) EXPECT_EQ(seen.count(name), 1u) << name;
  for (const std::string& name : seen) EXPECT_LE(seen.count(name), 1u) << name;
}

// A client that lost a reply sends the same cookie again, and receives the same entries.
TEST_P(Listing, TheSameCookieAgain) {
  for (int i = 0; i < 100; ++i) create(root_, "f" + std::to_string(i));
  DirectoryRequest request;
  const auto part = [&](std::uint64_t& last) {
    std::vector<std::string> names;
    const DirectoryResult result = fs_->read_directory(caller_, root_, request, [&](const DirectoryEntry& entry) {
      if (names.size() == 30) return false;
      names.emplace_back(entry.name);
      last = entry.cookie;
      return true;
    });
    EXPECT_EQ(result.status, Status::ok);
    request.verifier = result.verifier;
    return names;
  };
  std::uint64_t next = 0;
  part(next);
  request.cookie = next;
  std::uint64_t ignored = 0;
  const auto first = part(ignored);
  EXPECT_EQ(first.size(), 30u);
  EXPECT_EQ(part(ignored), first);
  EXPECT_EQ(part(ignored), first);
}

// Entries that an abandoned listing has read ahead, and that are then removed, do not appear in the next listing.
TEST_P(Listing, AnAbandonedOneDoesNotAffectTheNext) {
  constexpr std::size_t kPart = 30;
  std::set<std::string> expected{".", ".."};
  for (int i = 0; i < 100; ++i) {
    create(root_, "f" + std::to_string(i));
    expected.insert("f" + std::to_string(i));
  }
  std::set<std::string> shown;
  fs_->read_directory(caller_, root_, {}, [&](const DirectoryEntry& entry) {
    if (shown.size() == kPart) return false;
    shown.emplace(entry.name);
    return true;
  });
  int removed = 0;
  for (int i = 0; i < 100 && removed < 10; ++i) {
    const std::string name = "f" + std::to_string(i);
    if (shown.contains(name)) continue;
    ASSERT_EQ(fs_->remove(caller_, root_, name).status, Status::ok);
    expected.erase(name);
    ++removed;
  }
  const auto seen = list(root_, kPart);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()), expected);
}

TEST_P(Listing, AStaleVerifierIsABadCookie) {
  create(root_, "f");
  DirectoryRequest request;
  request.cookie = 1;
  request.verifier = {std::byte{0xff}, std::byte{0xee}};
  EXPECT_EQ(fs_->read_directory(caller_, root_, request, [](const DirectoryEntry&) { return true; }).status,
            Status::bad_cookie);
}

TEST_P(Listing, NodesAreReturnedOnRequest) {
  const NodeKey directory = mkdir(root_, "d");
  const NodeKey file = create(directory, "f", "12345");
  const NodeKey inner = mkdir(directory, "sub");
  DirectoryRequest request;
  request.want_nodes = true;
  std::map<std::string, NodeKey> keys;
  const DirectoryResult result = fs_->read_directory(caller_, directory, request, [&](const DirectoryEntry& entry) {
    EXPECT_TRUE(entry.attributes) << entry.name;
    if (entry.attributes) {
      EXPECT_EQ(entry.attributes->fileid, entry.fileid);
    }
    keys[std::string(entry.name)] = entry.node;
    return true;
  });
  ASSERT_EQ(result.status, Status::ok);
  EXPECT_TRUE(result.eof);
  EXPECT_EQ(keys["f"], file);
  EXPECT_EQ(keys["sub"], inner);
  EXPECT_EQ(keys["."], directory);
  EXPECT_EQ(keys[".."], root_);
}

TEST_P(Listing, DotDotOfTheRootHidesWhatIsAbove) {
  DirectoryRequest request;
  request.want_nodes = true;
  const std::uint64_t number = stat(root_).fileid;
  fs_->read_directory(caller_, root_, request, [&](const DirectoryEntry& entry) {
    EXPECT_EQ(entry.fileid, number) << entry.name;
    EXPECT_EQ(entry.node, root_) << entry.name;
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Listing, ::testing::Values(Kind::posix_handles, Kind::posix_hints, Kind::memory),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
