// SPDX-License-Identifier: BSD-3-Clause
#include "served.hpp"

namespace rpcrdma::nfsd {
namespace {

class Data : public Served {
 protected:
  void SetUp() override { start(); }
};

TEST_P(Data, SmallAndLargeAreTheSameAfterwards) {
  const nfs_fh3 directory = root();
  for (const std::size_t size : {1u, 3u, 1000u, 4096u, 5001u, 65'536u, 1'000'003u, 1u << 20}) {
    const std::string content = pattern(size);
    const nfs_fh3 file = create(directory, "f" + std::to_string(size));
    const WRITE3res written = write(file, 0, content, true);
    ASSERT_EQ(written.status, NFS3_OK) << size;
    EXPECT_EQ(written.WRITE3res_u.resok.count, size);
    EXPECT_TRUE(written.WRITE3res_u.resok.file_wcc.before.attributes_follow);
    EXPECT_TRUE(written.WRITE3res_u.resok.file_wcc.after.attributes_follow);
    bool eof = false;
    EXPECT_EQ(read(file, 0, 1u << 20, eof), content) << size;
    EXPECT_TRUE(eof);
    EXPECT_EQ(read(file, size - 1, 4096, eof), content.substr(size - 1));
  }
}

// The data of WRITE is transferred by RDMA Read, that of READ by RDMA Write (RFC 8267 section 4).
TEST_P(Data, BulkGoesInChunks) {
  const nfs_fh3 file = create(root(), "f");
  network_.start_trace();
  write(file, 0, pattern(200'000), true);
  std::uint64_t pulled = 0;
  for (const auto& entry : network_.trace())
    if (entry.kind == fabric::LoopbackTraceEntry::Kind::read_response) pulled += entry.length;
  EXPECT_EQ(pulled, 200'000u);
  network_.start_trace();
  bool eof = false;
  read(file, 0, 200'000, eof);
  std::uint64_t pushed = 0;
  for (const auto& entry : network_.trace())
    if (entry.kind == fabric::LoopbackTraceEntry::Kind::write) pushed += entry.length;
  EXPECT_EQ(pushed, 200'000u);
}

TEST_P(Data, ReadAtAndBehindTheEnd) {
  const nfs_fh3 file = create(root(), "f", pattern(10'000));
  bool eof = false;
  EXPECT_EQ(read(file, 0, 9'999, eof), pattern(10'000).substr(0, 9'999));
  EXPECT_FALSE(eof);
  EXPECT_EQ(read(file, 10'000, 8192, eof), "");
  EXPECT_TRUE(eof);
  EXPECT_EQ(read(file, std::uint64_t{1} << 40, 8192, eof), "");
  EXPECT_TRUE(eof);
}

TEST_P(Data, WriteOddities) {
  const nfs_fh3 file = create(root(), "f");
  WRITE3args args{};
  args.file = file;
  args.count = 5;
  args.data.set_text("four");
  EXPECT_EQ(call<nfs3::Write>(args)->status, NFS3ERR_INVAL) << "count is not the length";
  args.count = 4;
  args.stable = static_cast<stable_how>(3);
  EXPECT_EQ(call<nfs3::Write>(args)->status, NFS3ERR_INVAL);
  EXPECT_EQ(stat(file).size, 0u);
  const WRITE3res nothing = write(file, 100, "", false);
  EXPECT_EQ(nothing.status, NFS3_OK);
  EXPECT_EQ(nothing.WRITE3res_u.resok.count, 0u);
  args = {};
  args.file = root();
  EXPECT_EQ(call<nfs3::Write>(args)->status, NFS3ERR_ISDIR);
}

TEST_P(Data, StabilityAndCommit) {
  const nfs_fh3 file = create(root(), "f");
  writeverf3 verifier{};
  for (const stable_how stable : {UNSTABLE, DATA_SYNC, FILE_SYNC}) {
    const WRITE3res written = write(file, 0, pattern(100), false, stable);
    ASSERT_EQ(written.status, NFS3_OK);
    EXPECT_GE(written.WRITE3res_u.resok.committed, stable);
    std::memcpy(verifier, written.WRITE3res_u.resok.verf, sizeof verifier);
  }
  const auto committed = call<nfs3::Commit>({file, 0, 0});
  ASSERT_EQ(committed->status, NFS3_OK);
  EXPECT_EQ(std::memcmp(committed->COMMIT3res_u.resok.verf, verifier, sizeof verifier), 0);
}

// Eight WRITEs of 1 MiB are in flight at once, then eight READs.
TEST_P(Data, Pipelined) {
  constexpr std::uint32_t kSize = 1u << 20;
  constexpr std::uint32_t kCount = 8;
  const nfs_fh3 file = create(root(), "f");
  std::vector<memory::RegisteredBuffer> buffers;
  std::vector<BufferRef> parts;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    buffers.push_back(std::move(*client_pool_->allocate(kSize)));
    parts.push_back(buffers.back().ref());
    const std::string content = pattern(kSize, i);
    std::memcpy(parts.back().data, content.data(), kSize);
  }
  std::uint32_t done = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    WRITE3args args{};
    args.file = file;
    args.offset = std::uint64_t{i} * kSize;
    args.count = kSize;
    args.data.set_parts({&parts[i], 1});
    client_->async_call<nfs3::Write>(args, [&](error_code status, rpc::Decoded<WRITE3res> reply) {
      EXPECT_FALSE(status);
      EXPECT_EQ(reply->status, NFS3_OK);
      ++done;
    });
  }
  ASSERT_TRUE(test::run_until(context_, [&] { return done == kCount; }));
  for (BufferRef& part : parts) std::memset(part.data, 0, part.size);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    rpc::CallOptions options;
    options.into({&parts[i], 1});
    client_->async_call<nfs3::Read>({file, std::uint64_t{i} * kSize, kSize}, options,
                                    [&](error_code status, rpc::Decoded<READ3res> reply) {
                                      EXPECT_FALSE(status);
                                      EXPECT_EQ(reply->READ3res_u.resok.count, kSize);
                                      ++done;
                                    });
  }
  ASSERT_TRUE(test::run_until(context_, [&] { return done == 2 * kCount; }));
  for (std::uint32_t i = 0; i < kCount; ++i)
    EXPECT_EQ(std::memcmp(parts[i].data, pattern(kSize, i).data(), kSize), 0) << i;
}

// Each round breaks the connection one frame later than the round before. The client reconnects and retransmits, so
// that the WRITE and the READ succeed.
TEST_P(Data, LostConnections) {
  const nfs_fh3 file = create(root(), "f");
  const std::string content = pattern(150'000);
  for (std::uint64_t frames = 0; frames < 30; ++frames) {
    network_.drop_connection_after(frames);
    ASSERT_EQ(write(file, 0, content, true).status, NFS3_OK);
    bool eof = false;
    ASSERT_EQ(read(file, 0, 150'000, eof), content);
  }
}

// In round n the sink of the n-th RDMA Read cannot be registered: the client receives NFS3ERR_JUKEBOX, the connection
// stays, and the memory of the call is freed.
TEST_P(Data, SinksThatDoNotFitTheLimitOfLockedMemory) {
  const nfs_fh3 file = create(root(), "f");
  const std::string content = pattern(150'000);
  ASSERT_EQ(write(file, 0, content, true).status, NFS3_OK);
  const std::uint64_t before = server_fabric_->operations(fabric::LoopbackOperation::post_read);
  ASSERT_EQ(write(file, 0, content, true).status, NFS3_OK);
  const std::uint64_t reads = server_fabric_->operations(fabric::LoopbackOperation::post_read) - before;
  ASSERT_GE(reads, 1u);
  const std::uint64_t accepted = server_->counters().accepted;
  for (std::uint64_t n = 1; n <= reads; ++n) {
    server_fabric_->fail_nth(fabric::LoopbackOperation::post_read, n, fabric::FabricError::locked_memory);
    ASSERT_EQ(write(file, 0, pattern(150'000, 9), true).status, NFS3ERR_JUKEBOX) << n;
    bool eof = false;
    ASSERT_EQ(read(file, 0, 150'000, eof), content) << n;
  }
  EXPECT_EQ(server_->counters().accepted, accepted);
  EXPECT_EQ(server_->counters().bulk_in_use, 0u);
  EXPECT_EQ(write(file, 0, content, true).status, NFS3_OK);
}

INSTANTIATE_TEST_SUITE_P(Backends, Data, ::testing::Values("memory", "disk"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace rpcrdma::nfsd
