// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <fmt/core.h>

#include <utility>

namespace rpcrdma::bench {
namespace {

constexpr std::uint32_t kMebi = 1u << 20;

Peer raw_tcp(const Case& which) { return {"raw_tcp", Who::raw_tcp, which}; }
Peer tirpc_tcp(const Case& which) { return {"tirpc_tcp", Who::tirpc_tcp, which}; }
Peer local(const Case& which) { return {"local", Who::local, which}; }
Peer ours(const Case& which, Who who = Who::rpcrdma) { return {which.name, who, which}; }

void add_bulk(std::vector<Comparison>& plan, const Case& which) {
  plan.push_back({which, Who::rpcrdma, {raw_tcp(which), tirpc_tcp(which)}});
}

/// Compares NFS with the transport alone.
void add_nfs(std::vector<Comparison>& plan, const Case& alone) {
  Case which = alone;
  which.name = "nfs_" + alone.name;
  plan.push_back({which, Who::nfs_memory, {ours(alone)}});
  which.name += "_posix";
  plan.push_back({which, Who::nfs_posix, {ours(alone)}});
}

/// Compares version two with version one: NULL calls, connection setup (also with a fall-back), and WRITEs for which
/// the client requests larger Receives. READs of version two whose data fits into a Send are compared with READs by
/// Write chunk of both versions.
void add_version_two(std::vector<Comparison>& plan, const Case& null_rtt, const Case& setups) {
  using enum Operation;
  plan.push_back({{"null_rtt_v2", "us", null}, Who::rpcrdma_two, {ours(null_rtt)}});
  for (const auto& [name, bytes] : {std::pair{"read_4k", 4096u}, std::pair{"read_64k", 65536u}}) {
    const Case chunks{fmt::format("{}_chunk", name), "us", read, bytes};
    Case two = chunks;
    two.name += "_v2";
    plan.push_back({{fmt::format("{}_inline_v2", name), "us", read, bytes},
                    Who::rpcrdma_two_large,
                    {ours(chunks), ours(two, Who::rpcrdma_two)}});
  }
  const Case chunks{"write_32k_chunk", "us", write, 32768};
  plan.push_back({{"write_32k_grown_v2", "us", write, 32768}, Who::rpcrdma_two, {ours(chunks)}});
  plan.push_back({{"setup_v2", "1/s", setup}, Who::rpcrdma_two, {ours(setups)}});
  plan.push_back({{"setup_fallback", "1/s", setup}, Who::rpcrdma_fallback, {ours(setups)}});
}

/// Compares the rate of NULL calls with and without observation. Observation means that the statistics of the server
/// are requested once a second, or that the server or the client captures its traffic. The comparison uses rates,
/// because the median time of a call would not include the work of the observer between calls.
void add_observed(std::vector<Comparison>& plan) {
  constexpr std::chrono::seconds kScrape{1};
  for (const std::uint32_t depth : {1u, 32u}) {
    const auto null = [depth](std::string_view what) {
      return Case{fmt::format("{}_qd{}", what, depth), "1/s", Operation::null, 0, depth};
    };
    Case scraped = null("scraped");
    Case alone = null("nfs_null_rate");
    scraped.least = alone.least = kScrape;
    plan.push_back({scraped, Who::nfs_scraped, {{alone.name, Who::nfs_memory, alone}}});
    plan.push_back({null("server_captured"), Who::server_captured, {ours(null("null_rate"))}});
    plan.push_back({null("client_captured"), Who::client_captured, {ours(null("null_rate"))}});
  }
}

/// Compares operations on files and names with the transport alone, with system calls on a local directory, or with
/// libnfs on nfs-ganesha.
void add_metadata(std::vector<Comparison>& plan, const Case& null_rtt) {
  using enum Operation;
  const auto ganesha = [](const Case& which) { return Peer{"ganesha", Who::ganesha, which}; };
  for (const Case& which : {Case{"getattr_posix", "us", attributes}, Case{"lookup_posix", "us", lookup}})
    plan.push_back({which, Who::nfs_posix, {ours(null_rtt), local(which), ganesha(which)}});
  const Case sync{"create_remove_sync", "us", create_remove};
  plan.push_back({sync, Who::nfs_posix, {{"local_durable", Who::local_durable, sync}}});
  const Case async{"create_remove_async", "us", create_remove};
  plan.push_back({async, Who::nfs_posix_async, {local(async), ganesha(async)}});
  const Case large{"readdirplus_10k", "1/s", read_directory};
  plan.push_back({large, Who::nfs_posix, {local(large), ganesha(large)}});
  const Case put{.name = "tree_put", .unit = "1/s", .operation = tree_put, .bytes = 4096, .files = 3000, .rounds = 3};
  plan.push_back({put, Who::nfs_posix, {{"local_durable", Who::local_durable, put}}});
  const Case get{.name = "tree_get", .unit = "1/s", .operation = tree_get, .bytes = 4096, .files = 3000, .rounds = 3};
  plan.push_back({get, Who::nfs_posix, {local(get)}});
}

/// Compares this project's server with nfs-ganesha, both with libnfs as the client. Changes one at a time are also
/// compared with the system calls that any server needs for them.
void add_libnfs(std::vector<Comparison>& plan) {
  using enum Operation;
  const auto add = [&](const Case& which) { plan.push_back({which, Who::libnfs, {{"ganesha", Who::ganesha, which}}}); };
  add({"libnfs_getattr", "us", attributes});
  for (const auto& [name, operation] :
       {std::pair{"mkdir", mkdir}, std::pair{"stat", lookup}, std::pair{"chmod", set_mode}, std::pair{"rename", rename},
        std::pair{"rmdir", rmdir}}) {
    add({fmt::format("libnfs_{}", name), "us", operation});
    if (operation != lookup) plan.back().peers.push_back(local(plan.back().which));
    add({fmt::format("libnfs_{}_qd32", name), "1/s", operation, 0, 32});
  }
  add({"libnfs_read_4k_qd32", "1/s", read, 4096, 32});
  add({"libnfs_read_1m_qd1", "MB/s", read, kMebi, 1});
  add({"libnfs_read_1m_qd8", "MB/s", read, kMebi, 8});
  add({"libnfs_write_1m_qd1", "MB/s", write, kMebi, 1});
  add({"libnfs_write_1m_qd8", "MB/s", write, kMebi, 8});
}

/// Adds cases with 10,000 idle connections. Each is compared with the same case with 1,000 idle connections, but NULL
/// calls are compared with NULL calls without idle connections. The case with Operation::notice_end is the last one,
/// because it ends the idle connections.
void add_many_connections(std::vector<Comparison>& plan, const Case& null_rtt) {
  using enum Operation;
  plan.push_back({{"connections_10000", "us", null}, Who::rpcrdma_many, {ours(null_rtt)}});
  const auto add = [&](const char* what, const char* unit, Operation operation) {
    const Case fewer{
        .name = fmt::format("connections_1000_{}", what), .unit = unit, .operation = operation, .rounds = 1};
    Case many = fewer;
    many.name = fmt::format("connections_10000_{}", what);
    plan.push_back({many, Who::rpcrdma_many, {ours(fewer, Who::rpcrdma_crowd)}});
  };
  add("memory", "KiB", idle_memory);
  add("connect", "ms", connect_all);
  add("end", "ms", notice_end);
}

std::string size_text(std::uint32_t bytes) {
  return bytes >= kMebi ? fmt::format("{}m", bytes / kMebi) : fmt::format("{}k", bytes / 1024);
}

}  // namespace

std::string_view name_of(Who who) noexcept {
  switch (who) {
    case Who::raw_tcp_spin: return "raw_tcp_spin";
    case Who::libnfs: return "libnfs";
    case Who::ganesha: return "ganesha";
    case Who::rpcrdma_crowd: return "connections_1000";
    case Who::rpcrdma_many: return "connections_10000";
    default: return "a subject that every machine has";
  }
}

std::vector<Comparison> standard_plan() {
  using enum Operation;
  const Case null_rtt{"null_rtt", "us", null};
  const Case null_rate{"null_rate_qd32", "1/s", null, 0, 32};
  const Case read_1{"read_1m_qd1", "MB/s", read, kMebi, 1};
  const Case read_8{"read_1m_qd8", "MB/s", read, kMebi, 8};
  const Case write_1{"write_1m_qd1", "MB/s", write, kMebi, 1};
  const Case write_8{"write_1m_qd8", "MB/s", write, kMebi, 8};
  const Case read_4k{"read_4k_qd32", "1/s", read, 4096, 32};
  std::vector<Comparison> plan;
  plan.push_back({null_rtt,
                  Who::rpcrdma,
                  {raw_tcp(null_rtt),
                   {"raw_tcp_spin", Who::raw_tcp_spin, null_rtt},
                   {"raw_asio", Who::raw_asio, null_rtt},
                   tirpc_tcp(null_rtt)}});
  plan.push_back({null_rate, Who::rpcrdma, {tirpc_tcp(null_rate)}});
  for (const Case& bulk : {read_1, read_8, write_1, write_8, read_4k}) add_bulk(plan, bulk);
  plan.push_back({{"getattr", "us", attributes}, Who::nfs_memory, {ours(null_rtt)}});
  add_nfs(plan, read_8);
  add_nfs(plan, write_8);
  plan.push_back({{"null_rtt_1000_connections", "us", null}, Who::rpcrdma_crowd, {ours(null_rtt)}});
  plan.push_back({{"idle_connection", "KiB", idle_memory},
                  Who::rpcrdma_crowd,
                  {ours({"posted_receives", "KiB", posted_receives}, Who::rpcrdma_crowd)}});
  plan.push_back({{"read_1m_qd8_crc", "MB/s", read, kMebi, 8}, Who::rpcrdma_crc, {ours(read_8)}});
  for (const Case& door : {Case{"tirpc_door_null", "us", null}, Case{"tirpc_door_read_1m", "MB/s", read, kMebi, 1},
                           Case{"tirpc_door_write_1m", "MB/s", write, kMebi, 1}}) {
    plan.push_back({door, Who::tirpc_door, {tirpc_tcp(door)}});
  }
  const Case stable{"tirpc_door_write_1m_stable", "MB/s", write, kMebi, 1};  // uses stable_opaques
  plan.push_back({stable, Who::tirpc_door_stable, {tirpc_tcp(stable)}});
  plan.push_back({{"hello", "us", null}, Who::hello, {ours(null_rtt)}});
  const Case setups{"setup", "1/s", setup};
  plan.push_back({setups, Who::rpcrdma, {raw_tcp(setups), tirpc_tcp(setups)}});
  add_version_two(plan, null_rtt, setups);
  add_observed(plan);
  add_metadata(plan, null_rtt);
  add_libnfs(plan);
  add_many_connections(plan, null_rtt);
  return plan;
}

std::vector<Comparison> sweep_plan() {
  using enum Operation;
  std::vector<Comparison> plan;
  const Case null_rtt{"null_rtt", "us", null};
  const Case read_rtt{"read_4k_rtt", "us", read, 4096};
  for (std::uint32_t depth = 1; depth <= 64; depth *= 2) {
    plan.push_back({{fmt::format("null_latency_qd{}", depth), "us", null, 0, depth}, Who::rpcrdma, {ours(null_rtt)}});
    plan.push_back(
        {{fmt::format("read_4k_latency_qd{}", depth), "us", read, 4096, depth}, Who::rpcrdma, {ours(read_rtt)}});
  }
  for (std::uint32_t bytes = 4096; bytes <= kMebi; bytes *= 2) {
    add_bulk(plan, {fmt::format("read_{}_qd8", size_text(bytes)), "MB/s", read, bytes, 8});
    add_bulk(plan, {fmt::format("write_{}_qd8", size_text(bytes)), "MB/s", write, bytes, 8});
  }
  const Case read_8{"read_1m_qd8", "MB/s", read, kMebi, 8};
  for (std::uint32_t connections = 1; connections <= 64; connections *= 2) {
    const std::uint32_t depth = std::max(8u, connections);
    plan.push_back({{fmt::format("read_1m_connections{}", connections), "MB/s", read, kMebi, depth, connections},
                    Who::rpcrdma,
                    {ours(read_8)}});
    plan.push_back({{fmt::format("null_rate_connections{}", connections), "1/s", null, 0, 64, connections},
                    Who::rpcrdma,
                    {ours({"null_rate_qd64", "1/s", null, 0, 64})}});
  }
  return plan;
}

}  // namespace rpcrdma::bench
