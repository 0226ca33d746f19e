// SPDX-License-Identifier: BSD-3-Clause
// rm -r while other clients remove files, too, and with a server that lists files after they have been removed.
#include <set>

#include "rpcrdma/nfs/copy.hpp"
#include "scripted_server.hpp"

namespace rpcrdma::nfs {
namespace {

/// A server with two directories. Directory 1 is the root: it contains the file "a" and directory 2 as "d". Directory 2
/// contains the file "b".
class RemoveBelowTest : public testing::Test {
 protected:
  RemoveBelowTest() : server_(context_) {
    server_.on<nfs3::Readdirplus>([this](const READDIRPLUS3args& args) {
      const std::uint8_t number = number_of(args.dir);
      if (++listed_ == removed_before_listing_) names_.clear();
      READDIRPLUS3res gone{};
      gone.status = gone_;
      if (root_is_gone_ || (number != 1 && !names_.contains("d"))) return gone;
      listing_ = {};
      if (number == 1 && shows("a")) listing_.add("a", 1, NF3REG, 3);
      if (number == 1 && shows("d")) listing_.add("d", 2, NF3DIR, 2);
      if (number == 2 && shows("b")) listing_.add("b", 1, NF3REG, 4);
      return listing_.result(true);
    });
    server_.on<nfs3::Lookup>([this](const LOOKUP3args& args) {
      LOOKUP3res result{};
      result.status = names_.contains(text(args.what)) ? NFS3_OK : NFS3ERR_NOENT;
      if (result.status != NFS3_OK) return result;
      result.LOOKUP3res_u.resok.object = handle_of(2);
      result.LOOKUP3res_u.resok.obj_attributes = attributes_of_type(NF3DIR);
      return result;
    });
    server_.on<nfs3::Remove>([this](const REMOVE3args& args) {
      REMOVE3res result{};
      result.status = remove(text(args.object), number_of(args.object.dir));
      return result;
    });
    server_.on<nfs3::Rmdir>([this](const RMDIR3args& args) {
      RMDIR3res result{};
      result.status = remove(text(args.object), number_of(args.object.dir));
      return result;
    });
  }

  static std::string text(const diropargs3& what) { return std::string(what.name.view()); }
  bool shows(const std::string& name) const { return lies_ || names_.contains(name); }
  nfsstat3 remove(const std::string& name, std::uint8_t directory) {
    if (++removals_ == removed_before_removal_) names_.clear();
    if (directory != 1 && !names_.contains("d")) return NFS3ERR_STALE;
    return names_.erase(name) != 0 ? NFS3_OK : NFS3ERR_NOENT;
  }

  error_code remove_all() {
    Result<void> outcome;
    server_.run([&](Client& client) -> boost::asio::awaitable<void> {
      outcome = co_await Copier::remove_below(client, file_of(1));
    });
    return outcome ? error_code() : outcome.error();
  }

  boost::asio::io_context context_;
  ScriptedServer server_;
  Listing listing_;
  std::set<std::string> names_{"a", "d", "b"};
  int listed_ = 0;
  int removals_ = 0;
  int removed_before_listing_ = 0;  // before the READDIRPLUS of this number, another client removes everything
  int removed_before_removal_ = 0;  // before the REMOVE or RMDIR of this number, another client removes everything
  bool lies_ = false;               // removed names are still listed
  bool root_is_gone_ = false;
  nfsstat3 gone_ = NFS3ERR_STALE;
};

TEST_F(RemoveBelowTest, All) {
  EXPECT_EQ(remove_all(), error_code());
  EXPECT_TRUE(names_.empty());
  EXPECT_EQ(removals_, 3);
}

TEST_F(RemoveBelowTest, ConcurrentRemovalsAreNotErrors) {
  for (int when = 1; when <= 5; ++when) {
    names_ = {"a", "d", "b"};
    listed_ = 0;
    removed_before_listing_ = when;
    EXPECT_EQ(remove_all(), error_code()) << "before listing " << when;
    EXPECT_TRUE(names_.empty());
  }
  removed_before_listing_ = 0;
  for (int when = 1; when <= 3; ++when) {
    names_ = {"a", "d", "b"};
    removals_ = 0;
    removed_before_removal_ = when;
    EXPECT_EQ(remove_all(), error_code()) << "before removal " << when;
    EXPECT_TRUE(names_.empty());
  }
}

TEST_F(RemoveBelowTest, AServerThatListsRemovedFilesIsAnError) {
  lies_ = true;
  EXPECT_EQ(remove_all(), Status::notempty);
  EXPECT_LE(listed_, 16);
}

TEST_F(RemoveBelowTest, ARemovedDirectoryIsEmpty) {
  root_is_gone_ = true;
  EXPECT_EQ(remove_all(), error_code()) << "removing the name shows that the directory is gone";
  gone_ = NFS3ERR_NOENT;
  EXPECT_EQ(remove_all(), error_code()) << "removed while it was listed";
  gone_ = NFS3ERR_ACCES;
  EXPECT_EQ(remove_all(), Status::acces);
}

}  // namespace
}  // namespace rpcrdma::nfs
