// SPDX-License-Identifier: BSD-3-Clause
// Copies and removals of trees, and look-ups of paths, with a scripted server; in some tests it is hostile.
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "rpcrdma/nfs/copy.hpp"
#include "rpcrdma/nfs/path.hpp"
#include "scripted_server.hpp"

namespace rpcrdma::nfs {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using testing::ElementsAre;

constexpr std::uint8_t kRoot = 1;
constexpr std::uint8_t kFile = 2;
constexpr std::uint8_t kLink = 3;
constexpr std::uint8_t kFolder = 4;

class Problems : public CopyObserver {
 public:
  void on_found(std::uint64_t) override {}
  void on_moved(std::uint64_t) override {}
  void on_file_done() override { ++files; }
  void on_problem(std::string_view path, const error_code& why) override { list[std::string(path)] = why; }
  int files = 0;
  std::map<std::string, error_code> list;
};

class TreeTest : public testing::Test {
 protected:
  TreeTest() : server_(context_) {
    std::string name = (fs::temp_directory_path() / "tree_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
    fs::create_directory(folder_ / "into");
    server_.on<nfs3::Read>([](const READ3args&) {
      READ3res result{};
      result.READ3res_u.resok.count = 4;
      result.READ3res_u.resok.eof = TRUE;
      result.READ3res_u.resok.data.set_text("data");
      return result;
    });
    server_.on<nfs3::Readlink>([this](const READLINK3args&) {
      READLINK3res result{};
      result.READLINK3res_u.resok.data.set_text(target_);
      return result;
    });
    server_.on<nfs3::Readdirplus>(
        [this](const READDIRPLUS3args& args) { return listings_[number_of(args.dir)].result(true); });
  }
  ~TreeTest() override { fs::remove_all(folder_); }

  Result<void> download() {
    Result<void> outcome;
    server_.run([&](Client& client) -> asio::awaitable<void> {
      Copier copier(client, problems_, {65536, 65536});
      LocalDirectory into = std::move(*LocalDirectory::open((folder_ / "into").string()));
      Node root{file_of(kRoot), {}};
      root.attributes.type = FileType::directory;
      root.attributes.mode = 0755;
      outcome = co_await copier.download_tree(root, std::move(into), std::string());
    });
    return outcome;
  }

  /// Lists all paths below the folder of the test, except `into` itself.
  std::vector<std::string> everything() {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string path = fs::relative(entry.path().parent_path(), folder_) / entry.path().filename();
      if (path != "./into") out.push_back(path);
    }
    std::ranges::sort(out);
    return out;
  }

  static constexpr ftype3 kRegular = NF3REG;
  asio::io_context context_;
  ScriptedServer server_;
  Problems problems_;
  fs::path folder_;
  std::string target_ = "target";
  std::map<std::uint8_t, Listing> listings_;
};

TEST_F(TreeTest, NamesThatLeadOutOfTheTreeAreRefused) {
  listings_[kRoot]
      .add("good", 1, NF3DIR, kFolder)
      .add("../evil", 2, NF3DIR, kFolder)
      .add("/tmp/evil", 3, NF3DIR, kFolder)
      .add("a/b", 4, NF3DIR, kFolder)
      .add("", 5, NF3DIR, kFolder)
      .add(std::string("nul\0x", 5), 6, NF3DIR, kFolder);
  EXPECT_TRUE(download());
  EXPECT_EQ(problems_.list.size(), 5u);
  for (const auto& [path, why] : problems_.list) EXPECT_EQ(why, ClientError::unsafe_name) << path;
  EXPECT_THAT(everything(), ElementsAre("into/good"));
}

TEST_F(TreeTest, ALinkAndADirectoryWithOneNameStayInsideTheTree) {
  fs::create_directory(folder_ / "outside");
  target_ = "../outside";
  listings_[kRoot].add("name", 1, NF3LNK, kLink).add("name", 2, NF3DIR, kFolder);
  listings_[kFolder].add("evil", 1, NF3DIR, kFile);
  EXPECT_TRUE(download());
  EXPECT_FALSE(fs::exists(folder_ / "outside/evil"));
  EXPECT_EQ(problems_.list.size(), 1u);
}

TEST_F(TreeTest, LocalLinksAreNotFollowed) {
  fs::create_directory(folder_ / "outside");
  std::ofstream(folder_ / "outside/precious") << "precious";
  fs::create_symlink("../outside", folder_ / "into/folder");
  fs::create_symlink("../outside/precious", folder_ / "into/file");
  server_.on<nfs3::Lookup>([](const LOOKUP3args&) {
    LOOKUP3res result{};
    result.LOOKUP3res_u.resok.object = handle_of(kFile);
    result.LOOKUP3res_u.resok.obj_attributes = attributes_of_type(NF3REG, 4);
    return result;
  });
  listings_[kRoot].add("folder", 1, NF3DIR, kFolder).add_bare("file", 2);
  listings_[kFolder].add("evil", 1, NF3DIR, kFile);
  EXPECT_TRUE(download());
  EXPECT_EQ(problems_.list.size(), 1u);
  EXPECT_TRUE(problems_.list.contains("folder"));
  EXPECT_EQ(fs::file_size(folder_ / "outside/precious"), 8u);
  EXPECT_FALSE(fs::exists(folder_ / "outside/evil"));
  EXPECT_FALSE(fs::is_symlink(folder_ / "into/file"));
  EXPECT_EQ(fs::file_size(folder_ / "into/file"), 4u);
}

TEST_F(TreeTest, SpecialFilesAreSkipped) {
  listings_[kRoot].add("device", 1, NF3BLK, kFile).add("unknown", 2, static_cast<ftype3>(99), kFile);
  EXPECT_TRUE(download());
  EXPECT_EQ(problems_.list.size(), 2u);
  EXPECT_TRUE(everything().empty());
}

TEST_F(TreeTest, ADirectoryInsideItselfEnds) {
  listings_[kRoot].add("again", 1, NF3DIR, kRoot);
  EXPECT_TRUE(download());
  ASSERT_EQ(problems_.list.size(), 1u);
  EXPECT_EQ(problems_.list.begin()->second, ClientError::too_deep);
}

TEST_F(TreeTest, ADirectoryInsideItselfWhoseTypeIsNotListedEnds) {
  server_.on<nfs3::Lookup>([](const LOOKUP3args&) {
    LOOKUP3res result{};
    result.LOOKUP3res_u.resok.object = handle_of(kRoot);
    result.LOOKUP3res_u.resok.obj_attributes = attributes_of_type(NF3DIR, 0, 0755);
    return result;
  });
  listings_[kRoot].add_bare("again", 1);
  EXPECT_TRUE(download());
  ASSERT_EQ(problems_.list.size(), 1u);
  EXPECT_EQ(problems_.list.begin()->second, ClientError::too_deep);
}

TEST_F(TreeTest, DirectoriesWhoseTypeIsNotListedAreCopiedWithTheirFiles) {
  server_.on<nfs3::Lookup>([](const LOOKUP3args& args) {
    const bool folder = args.what.name.view().starts_with("folder");
    LOOKUP3res result{};
    result.LOOKUP3res_u.resok.object = handle_of(folder ? kFolder : kFile);
    result.LOOKUP3res_u.resok.obj_attributes = attributes_of_type(folder ? NF3DIR : NF3REG, 4, folder ? 0755 : 0644);
    return result;
  });
  std::vector<std::string> expected;
  // The number of directories exceeds the limits CopyOptions::files and CopyOptions::walkers, so some have to wait.
  for (int i = 0; i < 40; ++i) {
    const std::string name = "folder" + std::to_string(i);
    listings_[kRoot].add_bare(name, static_cast<cookie3>(i + 1));
    for (const char* each : {"", "/file", "/other"}) expected.push_back("into/" + name + each);
  }
  listings_[kFolder].add_bare("file", 1).add_bare("other", 2);
  EXPECT_TRUE(download());
  EXPECT_TRUE(problems_.list.empty());
  EXPECT_EQ(problems_.files, 80);
  std::ranges::sort(expected);
  EXPECT_EQ(everything(), expected);
}

TEST_F(TreeTest, AFileTakesNoMoreCallsThanItNeeds) {
  std::vector<std::string> calls;
  server_.on<nfs3::Create>([&](const CREATE3args& args) {
    const sattr3& set = args.how.createhow3_u.obj_attributes;
    calls.push_back("CREATE " + std::string(args.where.name.view()) + (set.mtime.set_it != 0 ? " with times" : ""));
    CREATE3res result{};
    CREATE3resok& ok = result.CREATE3res_u.resok;
    ok.obj.handle_follows = TRUE;
    ok.obj.post_op_fh3_u.handle = handle_of(kFile);
    ok.obj_attributes = attributes_of_type(kRegular, 0, set.mode.set_mode3_u.mode);
    fattr3& a = ok.obj_attributes.post_op_attr_u.attributes;
    if (set.atime.set_it != 0) a.atime = set.atime.set_atime_u.atime;
    if (set.mtime.set_it != 0) a.mtime = set.mtime.set_mtime_u.mtime;
    return result;
  });
  server_.on_write([&](const WRITE3args&, std::string data) {
    calls.push_back("WRITE");
    WRITE3res result{};
    result.WRITE3res_u.resok.count = static_cast<count3>(data.size());
    result.WRITE3res_u.resok.committed = FILE_SYNC;
    return result;
  });
  server_.on<nfs3::Setattr>([&](const SETATTR3args& args) {
    const sattr3& set = args.new_attributes;
    calls.push_back(std::string("SETATTR") + (set.mode.set_it != 0 ? " mode" : "") +
                    (set.mtime.set_it != 0 ? " times" : ""));
    return SETATTR3res{};
  });
  const fs::path source = folder_ / "source";
  fs::create_directory(source);
  std::ofstream(source / "empty").flush();
  std::ofstream(source / "small") << "text";
  CopyOptions how;
  how.files = 1;  // copies one file at a time, so that the calls of the two files are not mixed
  server_.run([&](Client& client) -> asio::awaitable<void> {
    Copier copier(client, problems_, {65536, 65536}, how);
    LocalDirectory from = std::move(*LocalDirectory::open(source.string()));
    EXPECT_TRUE(co_await copier.upload_tree(std::move(from), file_of(kRoot), std::string()));
  });
  EXPECT_TRUE(problems_.list.empty());
  EXPECT_THAT(calls, ElementsAre("CREATE empty with times", "CREATE small", "WRITE", "SETATTR times"));
}

TEST_F(TreeTest, APageWithoutProgressIsAnError) {
  Listing again;
  again.add("name", 7, NF3DIR, kFolder);
  server_.on<nfs3::Readdirplus>([&](const READDIRPLUS3args& args) {
    return number_of(args.dir) == kRoot ? again.result(false) : Listing().result(true);
  });
  EXPECT_TRUE(download());
  ASSERT_EQ(problems_.list.size(), 1u);
  EXPECT_EQ(problems_.list.begin()->second, ClientError::malformed_reply);
}

// A fatal error can leave a downloaded directory without some of its files. The download then must not give the
// directory the times of its source, because the directory would look like a complete copy.
TEST_F(TreeTest, AFatalErrorLeavesTheTimesOfADirectoryUnset) {
  listings_[kRoot].add("folder", 1, NF3DIR, kFolder);
  listings_[kFolder].add_bare("file", 1);
  EXPECT_FALSE(download()) << "the server has no LOOKUP";
  struct stat found {};
  ASSERT_EQ(::stat((folder_ / "into/folder").c_str(), &found), 0);
  EXPECT_NE(found.st_mtime, 0) << "the time in the listing";
}

TEST_F(TreeTest, RemovingFilesThatReappearEnds) {
  listings_[kRoot].add("ghost", 1, NF3REG, kFile);
  server_.on<nfs3::Remove>([](const REMOVE3args&) {
    REMOVE3res result{};
    result.status = NFS3ERR_NOENT;
    return result;
  });
  server_.run([&](Client& client) -> asio::awaitable<void> {
    const Result<void> outcome = co_await Copier::remove_below(client, file_of(kRoot));
    EXPECT_FALSE(outcome);
  });
}

class PathTest : public TreeTest {
 protected:
  PathTest() {
    server_.on<mount3::Mnt>([this](const dirpath& path) {
      asked_.emplace_back(path.view());
      mountres3 result{};
      const auto found = exports_.find(asked_.back());
      result.fhs_status = found == exports_.end() ? MNT3ERR_NOENT : found->second;
      result.mountres3_u.mountinfo.fhandle = handle_of(kRoot);
      return result;
    });
    server_.on<nfs3::Getattr>([](const GETATTR3args& args) {
      GETATTR3res result{};
      const ftype3 type = number_of(args.object) == kFile ? NF3REG : NF3DIR;
      result.GETATTR3res_u.resok.obj_attributes = attributes_of_type(type).post_op_attr_u.attributes;
      return result;
    });
    server_.on<nfs3::Lookup>([](const LOOKUP3args& args) {
      LOOKUP3res result{};
      const std::string_view name = args.what.name.view();
      if (name == "missing") result.status = NFS3ERR_NOENT;
      if (result.status != NFS3_OK) return result;
      const ftype3 type = name == "link" ? NF3LNK : name == "file" ? NF3REG : NF3DIR;
      const std::uint8_t handle = type == NF3LNK ? kLink : type == NF3REG ? kFile : kFolder;
      result.LOOKUP3res_u.resok.object = handle_of(handle);
      // The LOOKUP reply has no attributes for a file, so the client must send GETATTR.
      if (type != NF3REG) result.LOOKUP3res_u.resok.obj_attributes = attributes_of_type(type);
      return result;
    });
  }
  Result<Node> resolve(PathResolver::Path path, bool follow, std::optional<FileHandle> root = {}) {
    Result<Node> out = make_error_code(Status::io);
    server_.run([&](Client& client) -> asio::awaitable<void> {
      PathResolver paths(client, root);
      out = co_await paths.resolve(path, follow);
    });
    return out;
  }
  std::vector<std::string> asked_;
  std::map<std::string, mountstat3> exports_{{"/srv/data", MNT3_OK}};
};

TEST_F(PathTest, TheExportIsTheLongestPrefixThatMountAccepts) {
  const auto node = resolve({"srv", "data", "dir", "file"}, false);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->handle, file_of(kFile));
  EXPECT_EQ(node->attributes.type, FileType::regular);
  EXPECT_THAT(asked_, ElementsAre("/srv/data/dir/file", "/srv/data/dir", "/srv/data"));
}

TEST_F(PathTest, TheMostSpecificMountErrorIsReported) {
  EXPECT_EQ(resolve({"other", "x"}, false).error(), Status::noent);
  exports_["/closed"] = MNT3ERR_ACCES;
  EXPECT_EQ(resolve({"closed", "x"}, false).error(), Status::acces);
}

TEST_F(PathTest, AGivenRootReplacesTheFirstComponent) {
  const auto node = resolve({"any", "dir", "file"}, false, file_of(kRoot));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->handle, file_of(kFile));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(PathTest, LinksAreFollowedInsideTheExport) {
  target_ = "../../../../file";
  EXPECT_EQ(resolve({"srv", "data", "link"}, true)->handle, file_of(kFile));
  EXPECT_EQ(resolve({"srv", "data", "link"}, false)->handle, file_of(kLink));
  target_ = "/srv/data/file";
  EXPECT_EQ(resolve({"srv", "data", "link"}, true)->handle, file_of(kFile));
  target_ = "/etc/passwd";
  EXPECT_EQ(resolve({"srv", "data", "link"}, true).error(), Status::noent);
  target_ = "link";
  EXPECT_TRUE(resolve({"srv", "data", "link"}, true).error() == boost::system::errc::too_many_symbolic_link_levels);
}

TEST_F(PathTest, ParentsMustBeDirectories) {
  const PathResolver::Path plain{"srv", "data", "new"};
  const PathResolver::Path file{"srv", "data", "file", "new"};
  const PathResolver::Path missing{"srv", "data", "missing", "new"};
  const PathResolver::Path itself{"srv", "data"};
  server_.run([&](Client& client) -> asio::awaitable<void> {
    PathResolver paths(client);
    const Result<Place> place = co_await paths.resolve_parent(plain);
    EXPECT_TRUE(place);
    EXPECT_EQ(place->name, "new");
    EXPECT_EQ(place->directory, file_of(kRoot));
    const Result<Place> below = co_await paths.resolve_parent(file);
    EXPECT_EQ(below.error(), Status::notdir);
    const Result<Place> nowhere = co_await paths.resolve_parent(missing);
    EXPECT_EQ(nowhere.error(), Status::noent);
    const Result<Place> exported = co_await paths.resolve_parent(itself);
    EXPECT_TRUE(exported.error() == boost::system::errc::device_or_resource_busy);
  });
}

}  // namespace
}  // namespace rpcrdma::nfs
