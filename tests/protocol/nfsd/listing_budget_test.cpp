// SPDX-License-Identifier: BSD-3-Clause
// A listing takes its memory from the bulk budget, and waits for that memory for a limited time.
#include <future>

#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

class ListingBudget : public Served {
 protected:
  /// A READDIRPLUS call in progress. It asks for the largest reply that the server sends.
  struct InProgress {
    bool done = false;
    nfsstat3 status = NFS3_OK;
  };

  void SetUp() override {
    server_options_.bulk_budget = std::size_t{1} << 20;  // room for one listing of the largest size, not for two
    start();
    directory_ = root();
    create(directory_, "file");
  }
  ~ListingBudget() override { let_go(); }

  /// Blocks the I/O threads until let_go().
  void occupy_io_threads() {
    for (int i = 0; i < 3; ++i) io_.submit([held = held_](const HandleCodec&) { held.wait(); });
  }
  void let_go() {
    if (std::exchange(holds_, false)) hold_.set_value();
  }

  void start_listing(InProgress& out) {
    READDIRPLUS3args args{};
    args.dir = directory_;
    args.dircount = args.maxcount = 1u << 20;
    client_->async_call<nfs3::Readdirplus>(args, {}, [&out](error_code status, rpc::Decoded<READDIRPLUS3res> reply) {
      EXPECT_FALSE(status) << status.message();
      if (!status) out.status = reply->status;
      out.done = true;
    });
  }
  void await(const InProgress& listing) {
    ASSERT_TRUE(test::run_until(
        context_, [&] { return listing.done; }, std::chrono::minutes(5)));
  }

  nfs_fh3 directory_{};
  std::promise<void> hold_;
  std::shared_future<void> held_ = hold_.get_future().share();
  bool holds_ = true;
};

TEST_P(ListingBudget, AListingWithoutRoomIsAnsweredWithJukebox) {
  occupy_io_threads();
  InProgress first;
  InProgress second;
  start_listing(first);
  start_listing(second);
  ASSERT_NO_FATAL_FAILURE(await(second));
  EXPECT_EQ(second.status, NFS3ERR_JUKEBOX);
  EXPECT_FALSE(first.done) << "the first listing has its memory, and waits for an I/O thread";
  let_go();
  ASSERT_NO_FATAL_FAILURE(await(first));
  EXPECT_EQ(first.status, NFS3_OK);
  InProgress again;
  start_listing(again);
  ASSERT_NO_FATAL_FAILURE(await(again));
  EXPECT_EQ(again.status, NFS3_OK);
  ASSERT_TRUE(test::run_until(context_, [&] { return server_->counters().bulk_in_use == 0; }));
}

TEST_P(ListingBudget, AWaitingListingGetsReleasedRoom) {
  occupy_io_threads();
  InProgress first;
  InProgress second;
  start_listing(first);
  start_listing(second);
  ASSERT_TRUE(test::run_until(context_, [&] { return server_->counters().bulk_in_use != 0; }));
  let_go();
  ASSERT_NO_FATAL_FAILURE(await(first));
  ASSERT_NO_FATAL_FAILURE(await(second));
  EXPECT_EQ(first.status, NFS3_OK);
  EXPECT_EQ(second.status, NFS3_OK);
}

TEST_P(ListingBudget, ListsOfMountsAndExportsWaitForRoom) {
  occupy_io_threads();
  InProgress first;
  start_listing(first);
  ASSERT_TRUE(test::run_until(context_, [&] { return server_->counters().bulk_in_use != 0; }));
  int listed = 0;
  const auto count = [&listed](error_code status, const auto&) {
    EXPECT_FALSE(status) << status.message();
    ++listed;
  };
  client_->async_call<mount3::Dump>({}, {}, count);
  client_->async_call<mount3::Export>({}, {}, count);
  call<nfs3::Null>({});
  EXPECT_EQ(listed, 0);
  let_go();
  ASSERT_TRUE(test::run_until(context_, [&] { return listed == 2; }));
}

INSTANTIATE_TEST_SUITE_P(Backends, ListingBudget, ::testing::Values("disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
