// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "file_system_test.hpp"
#include "rpcrdma/nfsd/exports/export_table.hpp"
#include "rpcrdma/nfsd/exports/handle_codec.hpp"
#include "rpcrdma/nfsd/memory/memory_file_system.hpp"

namespace rpcrdma::nfsd {
namespace {

ExportSpec parsed(std::string_view text) {
  const auto spec = parse_export(text);
  EXPECT_TRUE(spec) << text << ": " << spec.error().text;
  return spec ? *spec : ExportSpec();
}

std::string refused(std::string_view text) {
  const auto spec = parse_export(text);
  EXPECT_FALSE(spec) << text;
  return spec ? std::string() : spec.error().text;
}

TEST(ExportSpec, Directories) {
  EXPECT_EQ(parsed("/srv/data").directory, "/srv/data");
  EXPECT_EQ(parsed("/srv/data").name, "/data");
  EXPECT_EQ(parsed("/srv/data/").name, "/data");
  EXPECT_EQ(parsed("/srv/data:/other").name, "/other");
  EXPECT_EQ(parsed("/srv/data:/a/b/").name, "/a/b");
  EXPECT_FALSE(parsed("/srv/data").read_only);
  EXPECT_EQ(parsed(".:/here").directory, ".");
}

TEST(ExportSpec, Options) {
  const ExportSpec spec = parsed("/srv/data:/d,ro,allow=192.0.2.0/24,allow=2001:db8::/32");
  EXPECT_TRUE(spec.read_only);
  ASSERT_EQ(spec.allow.size(), 2u);
  EXPECT_EQ(spec.allow[1].text(), "2001:db8::/32");
  EXPECT_TRUE(parsed("/srv/data,ro").read_only);
  EXPECT_EQ(parsed("/srv/data,allow=::1").allow.size(), 1u) << "colons belong to the address";
}

TEST(ExportSpec, MoreOptions) {
  using Mode = SquashPolicy::Mode;
  const ExportSpec plain = parsed("/d");
  EXPECT_TRUE(plain.sync && !plain.devices && !plain.reserved_ports);
  EXPECT_EQ(plain.squash, SquashPolicy()) << "the default is the same as in a configuration file";
  EXPECT_EQ(plain.squash.mode, Mode::root);
  const ExportSpec spec = parsed("/d,ro,rw,async,secure,devices,all_squash,anonuid=7,anongid=0");
  EXPECT_TRUE(!spec.read_only && !spec.sync && spec.devices && spec.reserved_ports);
  EXPECT_EQ(spec.squash, (SquashPolicy{Mode::all, 7, 0}));
  EXPECT_EQ(parsed("/d,root_squash").squash.mode, Mode::root);
  EXPECT_EQ(parsed("/d,root_squash,no_root_squash").squash.mode, Mode::none);
  const ExportSpec back = parsed("/d,async,sync,secure,insecure,devices,nodevices");
  EXPECT_TRUE(back.sync && !back.devices && !back.reserved_ports);
  EXPECT_EQ(parsed("memory:/m,size=3M").size, std::uint64_t{3} << 20);
  for (const char* bad : {"/d,anonuid=", "/d,anonuid=-1", "/d,anonuid=4294967296", "/d,anongid=x", "/d,size=1G",
                          "memory:/m,size=0", "memory:/m,size=1X", "memory:/m,size=1MB", "memory:/m,size=99999999T",
                          "/d,allow=", "/d,allow", "/d,squash", "/d,ro=1"})
    EXPECT_FALSE(refused(bad).empty()) << bad;
}

TEST(ExportSpec, Memory) {
  EXPECT_TRUE(parsed("memory:/scratch").memory);
  EXPECT_EQ(parsed("memory:/scratch,ro").name, "/scratch");
  EXPECT_FALSE(parsed("memory").memory) << "a directory of that name";
  EXPECT_FALSE(parsed("./memory:/x").memory);
}

TEST(ExportSpec, Backslashes) {
  const ExportSpec spec = parsed(R"(/a\,b\:c\\d:/n)");
  EXPECT_EQ(spec.directory, R"(/a,b:c\d)");
  EXPECT_EQ(spec.name, "/n");
}

TEST(ExportSpec, Refused) {
  EXPECT_NE(refused("").find("directory"), std::string::npos);
  EXPECT_NE(refused("/d:name").find("'/'"), std::string::npos);
  EXPECT_NE(refused("/d:").find("'/'"), std::string::npos);
  EXPECT_NE(refused("/d,rx").find("'rx'"), std::string::npos);
  EXPECT_NE(refused("/d,allow=10.0.0.0/33").find("10.0.0.0/33"), std::string::npos);
  EXPECT_NE(refused("/d,").find("''"), std::string::npos);
}

TEST(Cidr, Contains) {
  const auto in = [](const char* range, const char* address) {
    return Cidr::parse(range)->contains(boost::asio::ip::make_address(address));
  };
  EXPECT_TRUE(in("192.0.2.0/24", "192.0.2.255"));
  EXPECT_FALSE(in("192.0.2.0/24", "192.0.3.0"));
  EXPECT_TRUE(in("192.0.2.128/25", "192.0.2.129"));
  EXPECT_FALSE(in("192.0.2.128/25", "192.0.2.127"));
  EXPECT_TRUE(in("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(in("0.0.0.0/0", "::1"));
  EXPECT_TRUE(in("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(in("10.1.2.3", "10.1.2.2"));
  EXPECT_TRUE(in("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(in("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(in("127.0.0.0/8", "::ffff:127.0.0.1")) << "an IPv4-mapped address";
  EXPECT_TRUE(in("::ffff:10.0.0.0/104", "10.255.0.1")) << "a range of IPv4-mapped addresses";
  EXPECT_FALSE(in("::ffff:10.0.0.0/104", "11.0.0.1"));
  EXPECT_TRUE(in("::ffff:10.0.0.1", "10.0.0.1"));
  EXPECT_FALSE(in("::/0", "10.0.0.1")) << "IPv6 addresses only";
  EXPECT_TRUE(in("::/0", "2001:db8::1"));
  EXPECT_EQ(Cidr::parse("10.0.0.1/32")->text(), "10.0.0.1");
  for (const char* bad : {"", "x", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/-1", "1.2.3.4/8x", "::/129", "::ffff:1.2.3.4/95",
                          "fe80::1%lo", "fe80::1%nosuch", "fe80::%0/64"})
    EXPECT_FALSE(Cidr::parse(bad)) << bad;
}

NodeKey key_of(std::size_t size) {
  std::vector<std::byte> octets(size, std::byte{0x5a});
  return NodeKey(octets);
}

TEST(HandleCodec, RoundTripAtEverySize) {
  const HandleCodec codec(HandleSecret{std::byte{1}});
  for (std::size_t size = 0; size <= NodeKey::kMax; ++size) {
    const FileHandle handle = codec.encode(77, key_of(size));
    EXPECT_LE(handle.octets().size(), 64u);
    const auto decoded = codec.decode(handle.octets());
    ASSERT_TRUE(decoded) << size;
    EXPECT_EQ(decoded->export_id, 77u);
    EXPECT_EQ(decoded->node, key_of(size));
  }
}

// A codec keeps the tags of some handles. It makes and accepts the same handles as a new codec.
TEST(HandleCodec, ManyHandles) {
  const HandleSecret secret{std::byte{1}};
  const HandleCodec codec(secret);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t id = 1; id <= 300; ++id) {
      const FileHandle handle = codec.encode(id, key_of(id % NodeKey::kMax));
      const HandleCodec fresh(secret);
      EXPECT_EQ(fresh.encode(id, key_of(id % NodeKey::kMax)), handle);
      for (const HandleCodec* one : {&codec, &fresh}) {
        const auto decoded = one->decode(handle.octets());
        ASSERT_TRUE(decoded) << id;
        EXPECT_EQ(decoded->export_id, id);
        EXPECT_EQ(decoded->node, key_of(id % NodeKey::kMax));
      }
    }
  }
}

TEST(HandleCodec, RejectsForgedHandles) {
  const HandleCodec codec(HandleSecret{std::byte{1}});
  const FileHandle handle = codec.encode(77, key_of(10));
  EXPECT_FALSE(HandleCodec(HandleSecret{std::byte{2}}).decode(handle.octets()));
  const std::vector<std::byte> good(handle.octets().begin(), handle.octets().end());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> other = good;
    other[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(codec.decode(other)) << bit;
  }
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(codec.decode(handle.octets().first(length))) << length;
  std::vector<std::byte> longer = good;
  longer.resize(FileHandle::kMaxSize);
  EXPECT_FALSE(codec.decode(longer)) << "bytes follow the end";
  // The handle states that its key has 255 bytes. The handle itself has only 64 bytes, so it cannot contain such a key
  // and a tag.
  std::array<std::byte, 64> claim{std::byte{1}, std::byte{255}};
  EXPECT_FALSE(codec.decode(claim));
}

TEST(StateDir, TheSecretStays) {
  TemporaryDirectory top;
  const auto directory = top.path() / "a/state";
  ASSERT_FALSE(make_state_dir(directory));
  ASSERT_FALSE(make_state_dir(directory)) << "the directory exists already";
  struct stat s {};
  ASSERT_EQ(::stat(directory.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777u, 0700u);
  const auto first = load_handle_secret(directory);
  ASSERT_TRUE(first);
  EXPECT_NE(*first, HandleSecret{});
  EXPECT_EQ(*load_handle_secret(directory), *first);
  ASSERT_EQ(::stat((directory / "handle.key").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777u, 0600u);
}

// make_state_dir() restricts the modes itself, because the server runs with umask 0: clients choose the modes of
// exported files.
TEST(StateDir, OthersCanChangeNeitherItNorItsParents) {
  const TemporaryDirectory top;
  const auto directory = top.path() / "a/b/state";
  const mode_t umask = ::umask(0);
  const error_code failed = make_state_dir(directory);
  ::umask(umask);
  ASSERT_FALSE(failed);
  for (const char* one : {"a", "a/b", "a/b/state"}) {
    struct stat s {};
    ASSERT_EQ(::stat((top.path() / one).c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 022u, 0u) << one;
  }
  for (const mode_t mode : {0770u, 0702u, 0777u}) {
    ::chmod(directory.c_str(), mode);
    EXPECT_EQ(make_state_dir(directory), boost::system::errc::operation_not_permitted) << mode;
  }
  ::chmod(directory.c_str(), 0755);
  EXPECT_FALSE(make_state_dir(directory));
}

TEST(StateDir, BelongsToTheServer) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  const TemporaryDirectory top;
  ASSERT_TRUE(load_handle_secret(top.path()));
  const auto file = top.path() / "handle.key";
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_EQ(load_handle_secret(top.path()).error(), boost::system::errc::operation_not_permitted);
  const auto directory = top.path() / "state";
  ASSERT_FALSE(make_state_dir(directory));
  ASSERT_EQ(::chown(directory.c_str(), 65534, 65534), 0);
  EXPECT_EQ(make_state_dir(directory), boost::system::errc::operation_not_permitted);
}

TEST(StateDir, ASecretThatCannotBeWrittenLeavesNothing) {
  const TemporaryDirectory top;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const rlim_t octets : {0u, 7u}) {
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{octets, before.rlim_max};
    const bool limited = ::setrlimit(RLIMIT_FSIZE, &small) == 0;
    const auto secret = load_handle_secret(top.path());
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
    ASSERT_TRUE(limited);
    EXPECT_FALSE(secret);
    EXPECT_TRUE(std::filesystem::is_empty(top.path()));
  }
  EXPECT_TRUE(load_handle_secret(top.path()));
}

TEST(StateDir, WhatACrashHasLeftDoesNoHarm) {
  const TemporaryDirectory top;
  std::ofstream(top.path() / ("handle.key." + std::to_string(::getpid())));
  EXPECT_TRUE(load_handle_secret(top.path()));
}

TEST(StateDir, AnInvalidSecretIsRefused) {
  TemporaryDirectory top;
  ASSERT_TRUE(load_handle_secret(top.path()));
  const auto file = top.path() / "handle.key";
  ::chmod(file.c_str(), 0644);
  EXPECT_EQ(load_handle_secret(top.path()).error(), boost::system::errc::operation_not_permitted);
  ::chmod(file.c_str(), 0600);
  std::ofstream(file) << "short";
  EXPECT_EQ(load_handle_secret(top.path()).error(), boost::system::errc::invalid_argument);
  std::ofstream(top.path() / "plain") << "x";
  EXPECT_TRUE(make_state_dir(top.path() / "plain"));
}

TEST(ExportTable, NamesAreUnique) {
  ExportTable table(1u << 20);
  EXPECT_TRUE(table.add(parsed("memory:/a"), {}, Log{}));
  EXPECT_TRUE(table.add(parsed("memory:/b"), {}, Log{}));
  const auto again = table.add(parsed("memory:/a"), {}, Log{});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().text.find("/a"), std::string::npos);
  const auto missing = table.add(parsed("/nonexistent/directory:/c"), {}, Log{});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text.find("/nonexistent/directory"), std::string::npos);
  ASSERT_NE(table.find(std::string_view("/b")), nullptr);
  EXPECT_EQ(table.find(export_id_of("/b")), table.find(std::string_view("/b")));
  EXPECT_EQ(table.find(std::string_view("/c")), nullptr);
}

// The table refuses an export if the hash of its name equals that of another export's name. A file handle identifies
// its export by this hash.
TEST(ExportTable, NamesWithOneIdentifier) {
  ASSERT_EQ(export_id_of("/ahfgnn"), export_id_of("/bkalca"));
  ExportTable table(1u << 20);
  EXPECT_TRUE(table.add(parsed("memory:/ahfgnn"), {}, Log{}));
  const auto other = table.add(parsed("memory:/bkalca"), {}, Log{});
  ASSERT_FALSE(other);
  for (const char* name : {"/ahfgnn", "/bkalca"}) EXPECT_NE(other.error().text.find(name), std::string::npos) << name;
  EXPECT_EQ(other.error().text.find("two exports are named"), std::string::npos);
}

class Replace : public ::testing::Test {
 protected:
  bool replace(std::initializer_list<std::string> texts) {
    std::vector<ExportSpec> specs;
    for (const std::string& text : texts) specs.push_back(parsed(text));
    const auto replaced = table_.replace(specs, top_.path(), Log{});
    why_ = replaced ? std::string() : replaced.error().text;
    return replaced.has_value();
  }
  ExportPtr find(std::string_view name) { return table_.find(name); }

  TemporaryDirectory top_;
  ExportTable table_{1u << 20};
  ExportView view_{table_};
  std::string why_;
};

TEST_F(Replace, WhatIsNamedAgainStaysOpen) {
  const std::string directory = top_.path() / "d";
  std::filesystem::create_directory(directory);
  ASSERT_TRUE(replace({directory, "memory:/m", "memory:/gone"})) << why_;
  const ExportPtr disk = find("/d");
  const ExportPtr memory = find("/m");
  EXPECT_EQ(view_.find(std::string_view("/gone")), find("/gone"));
  ASSERT_TRUE(replace({"memory:/new", "memory:/m,ro", directory + ",allow=::1"})) << why_;
  EXPECT_EQ(find("/d")->file_system, disk->file_system);
  EXPECT_EQ(find("/m")->file_system, memory->file_system);
  EXPECT_TRUE(find("/m")->read_only && !memory->read_only) << "a held Export does not change";
  EXPECT_EQ(view_.find(std::string_view("/gone")), nullptr);
  EXPECT_EQ(view_.all().at(0)->name, "/new");
}

// Closing a file system may block. When an export is removed, an event loop therefore only drops its reference to the
// file system. A later call of tidy(), on a thread that may block, closes the file system.
TEST_F(Replace, WhatIsNotNamedAgainIsClosedByTidy) {
  ASSERT_TRUE(replace({"memory:/gone"}));
  std::weak_ptr<FileSystem> gone = view_.find(std::string_view("/gone"))->file_system;
  ASSERT_TRUE(replace({}));
  table_.tidy();
  EXPECT_FALSE(gone.expired()) << "the held view still refers to it";
  EXPECT_TRUE(view_.all().empty());
  EXPECT_FALSE(gone.expired());
  table_.tidy();
  EXPECT_TRUE(gone.expired());
}

TEST_F(Replace, AllOrNothing) {
  ASSERT_TRUE(replace({"memory:/m"}));
  const std::uint64_t generation = table_.generation();
  const ExportPtr before = find("/m");
  EXPECT_FALSE(replace({"memory:/m,ro", "memory:/n", "/nonexistent/directory:/x"}));
  EXPECT_NE(why_.find("/nonexistent/directory"), why_.npos);
  EXPECT_FALSE(replace({"memory:/n", "memory:/n"}));
  EXPECT_FALSE(replace({"memory:/m,size=1M"})) << "its files would be lost";
  EXPECT_NE(why_.find("/m"), why_.npos);
  EXPECT_EQ(find("/m"), before);
  EXPECT_EQ(find("/n"), nullptr);
  EXPECT_EQ(table_.generation(), generation);
}

TEST_F(Replace, ADirectoryThatReplacedAnotherIsOpenedAnew) {
  const std::filesystem::path directory = top_.path() / "d";
  std::filesystem::create_directory(directory);
  ASSERT_TRUE(replace({directory.string()}));
  const ExportPtr before = find("/d");
  std::filesystem::rename(directory, top_.path() / "old");
  std::filesystem::create_directory(directory);
  ASSERT_TRUE(replace({directory.string()})) << why_;
  EXPECT_NE(find("/d")->file_system, before->file_system);
}

TEST(MemoryExports, PagesComeBackWithTheLastUser) {
  PageStore store(kSlabSize);
  const std::size_t empty = store.in_use();
  {
    const auto fs = make_memory_file_system(store);
    const NodeResult file = fs->create({}, fs->root(), "f", {});
    std::string data(100000, 'x');
    const BufferRef buffer = ref(data);
    ASSERT_EQ(fs->write({}, file.node, 0, {&buffer, 1}, Stable::unstable).status, Status::ok);
    EXPECT_GT(store.in_use(), empty);
  }
  EXPECT_EQ(store.in_use(), empty);
}

}  // namespace
}  // namespace rpcrdma::nfsd
