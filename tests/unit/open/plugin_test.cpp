// SPDX-License-Identifier: BSD-3-Clause
// How the verbs plug-in is searched for and refused. No folder in these tests contains a plug-in of this build.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "rpcrdma/fabric/open/open.hpp"
#include "support/log_lines.hpp"

namespace rpcrdma::fabric {
namespace {

class Plugin : public testing::Test {
 protected:
  Plugin() {
    std::string name = (std::filesystem::temp_directory_path() / "rpcrdma-plugin-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    ::setenv("RPCRDMA_PLUGIN_DIR", folder_.c_str(), 1);
  }
  ~Plugin() override {
    ::unsetenv("RPCRDMA_PLUGIN_DIR");
    std::filesystem::remove_all(folder_);
  }
  error_code open_verbs() {
    return open(context_, boost::asio::ip::make_address("192.0.2.1"), {.provider = Provider::verbs}, Log{}).error();
  }
  /// Opens a fabric for an address that is not loopback, so that the automatic choice looks for a device; returns the
  /// name of the fabric, or "none" if the call fails.
  std::string_view automatic() {
    auto opened = open(context_, boost::asio::ip::make_address("192.0.2.1"), {}, Log{});
    return opened ? (*opened)->capabilities().name : "none";
  }

  boost::asio::io_context context_;
  std::filesystem::path folder_;
};

TEST_F(Plugin, IsMissing) {
  EXPECT_EQ(open_verbs(), FabricError::no_plugin);
  EXPECT_EQ(open_verbs(), Condition::give_up);
  EXPECT_EQ(automatic(), "iwarp");
}

TEST_F(Plugin, ARelativeFolderIsIgnoredAndLogged) {
  ::setenv("RPCRDMA_PLUGIN_DIR", "lib", 1);
  const auto lines = std::make_shared<test::LogLines>();
  open(context_, boost::asio::ip::make_address("192.0.2.1"), {.provider = Provider::verbs}, Log(lines));
  EXPECT_EQ(lines->with("RPCRDMA_PLUGIN_DIR=lib is ignored").size(), 1u);
}

TEST_F(Plugin, IsNoSharedObject) {
  std::ofstream(folder_ / "librpcrdma-verbs.so") << "text";
  EXPECT_EQ(open_verbs(), FabricError::plugin_mismatch);
  EXPECT_EQ(automatic(), "iwarp");
}

TEST_F(Plugin, BelongsToAnotherBuild) {
  std::filesystem::copy(RPCRDMA_OTHER_BUILD, folder_ / "librpcrdma-verbs.so");
  EXPECT_EQ(open_verbs(), FabricError::plugin_mismatch);
  EXPECT_EQ(automatic(), "iwarp");
}

/// A second object for the error category `original`, with another address and the number `id`. A plug-in that does not
/// share the program's symbols has such second objects.
class Copy final : public boost::system::error_category {
 public:
  Copy(std::uint64_t id, const error_category& original) noexcept : error_category(id), original_(original) {}
  const char* name() const noexcept override { return original_.name(); }
  std::string message(int value) const override { return original_.message(value); }
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    return original_.default_error_condition(value);
  }

 private:
  const error_category& original_;
};

TEST(PluginErrors, CategoriesAreIdentifiedByNumber) {
  const error_code lost = FabricError::device_lost;
  EXPECT_EQ(error_code(lost.value(), Copy(0x7270'6372'646d'6103, lost.category())), lost);
  const error_code memory = BaseError::out_of_memory;
  EXPECT_EQ(error_code(memory.value(), Copy(0x7270'6372'646d'6102, memory.category())), memory);
  const auto retry = make_error_condition(Condition::retry);
  EXPECT_EQ(boost::system::error_condition(retry.value(), Copy(0x7270'6372'646d'6101, retry.category())), retry);
}

}  // namespace
}  // namespace rpcrdma::fabric
