// SPDX-License-Identifier: BSD-3-Clause
// Reading directories, including those whose listing never ends.
#include "rpcrdma/nfs/directory.hpp"

#include <set>

#include "scripted_server.hpp"

namespace rpcrdma::nfs {
namespace {

TEST(CycleDetector, FindsEveryCycle) {
  for (std::uint64_t tail = 0; tail < 20; ++tail) {
    for (std::uint64_t length = 1; length < 20; ++length) {
      CycleDetector<std::uint64_t> detector;
      std::uint64_t taken = 0;
      while (!detector.repeats(taken < tail ? taken : tail + (taken - tail) % length)) ASSERT_LT(++taken, 200u);
      EXPECT_LE(taken, 4 * (tail + length)) << tail << ' ' << length;
      EXPECT_GE(taken, tail + (length - 1));
    }
  }
}

TEST(CycleDetector, PassesValuesThatDiffer) {
  CycleDetector<std::uint64_t> detector;
  for (std::uint64_t value = 0; value < 10000; ++value) ASSERT_FALSE(detector.repeats(value));
}

class DirectoryReaderTest : public testing::Test {
 protected:
  DirectoryReaderTest() : server_(context_) {
    server_.on<nfs3::Readdirplus>([this](const READDIRPLUS3args& args) {
      ++calls_;
      return page_(args.cookie);
    });
  }

  /// Reads all pages into `names_`; returns the error, if any.
  error_code read_all(std::uint64_t max_entries = DirectoryReader::kMaxEntries) {
    error_code failed;
    server_.run([&](Client& client) -> boost::asio::awaitable<void> {
      DirectoryReader reader(client, file_of(1), true, max_entries);
      for (bool end = false; !end && !failed;) {
        const Result<Client::Page> page = co_await reader.next();
        if (!page) {
          failed = page.error();
          break;
        }
        for (const DirectoryEntry& entry : page->entries) names_.insert(entry.name);
        end = page->end;
      }
    });
    return failed;
  }

  READDIRPLUS3res one(const std::string& name, std::uint64_t cookie, bool end) {
    listing_ = {};
    listing_.add_bare(name, cookie);
    return listing_.result(end);
  }

  boost::asio::io_context context_;
  ScriptedServer server_;
  Listing listing_;
  std::function<READDIRPLUS3res(std::uint64_t)> page_;
  std::set<std::string> names_;
  int calls_ = 0;
};

TEST_F(DirectoryReaderTest, ReadsToTheEnd) {
  page_ = [this](std::uint64_t cookie) {
    if (cookie < 2) return one(cookie == 0 ? "." : "..", cookie + 1, false);
    return one("name" + std::to_string(cookie), cookie + 1, cookie == 100);
  };
  EXPECT_EQ(read_all(), error_code());
  EXPECT_EQ(names_.size(), 99u);
}

TEST_F(DirectoryReaderTest, CookiesThatCycleAreAnError) {
  for (const std::uint64_t first : {0, 1, 5}) {
    calls_ = 0;
    page_ = [this, first](std::uint64_t cookie) {
      const std::uint64_t next = cookie < 7 ? cookie + 1 : first;
      return one("name" + std::to_string(next), next, false);
    };
    EXPECT_EQ(read_all(), ClientError::endless_listing) << first;
    EXPECT_LE(calls_, 40);
  }
}

TEST_F(DirectoryReaderTest, PagesThatNameNothingAreAnError) {
  page_ = [this](std::uint64_t cookie) { return one(".", cookie + 1, false); };
  EXPECT_EQ(read_all(), ClientError::endless_listing);
  EXPECT_LE(calls_, 4);
}

TEST_F(DirectoryReaderTest, TooManyEntriesAreAnError) {
  page_ = [this](std::uint64_t cookie) { return one("name" + std::to_string(cookie), cookie + 1, false); };
  EXPECT_EQ(read_all(50), ClientError::endless_listing);
  EXPECT_EQ(calls_, 51);
}

}  // namespace
}  // namespace rpcrdma::nfs
