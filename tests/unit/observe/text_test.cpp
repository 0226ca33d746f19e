// SPDX-License-Identifier: BSD-3-Clause
#include "rpcrdma/observe/metrics/text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <thread>

namespace rpcrdma::observe {
namespace {

Procedure procedure(std::uint32_t number, std::string_view name, std::uint64_t calls) {
  Procedure one{100003, 3, number, name, {}};
  for (std::uint64_t i = 0; i < calls; ++i) {
    one.statistics.latency.add(1000 * (i + 1));
    one.statistics.count(100, transport::kWriteChunk);
    one.statistics.reply_size.add(4000);
  }
  return one;
}

Report report_of(std::uint64_t calls) {
  Report part;
  part.procedures.push_back(procedure(1, "GETATTR", calls));
  part.procedures.push_back(procedure(6, "READ", 2 * calls));
  part.procedures.back().statistics.fail(70);
  FabricUse use;
  use.name = "iwarp";
  use.traffic.calls = 3 * calls;
  use.traffic.inline_calls = calls;
  use.traffic.retransmissions = 4;
  use.traffic.send_bytes = 3;
  use.traffic.write_bytes = 5;
  use.counters.frames_sent = 7;
  Listener listener{"iwarp", {}, use.traffic};
  listener.counters.endpoint = {boost::asio::ip::make_address("127.0.0.1"), 20049};
  part.listeners.push_back(std::move(listener));
  part.add(std::move(use), {});
  return part;
}

/// Returns the samples of a text in Prometheus format, by name and labels. Fails on a line that is neither a sample nor
/// a comment, on a sample whose family has no TYPE, and on a sample that appears twice.
std::map<std::string, double> samples(const std::string& text) {
  std::map<std::string, double> out;
  std::set<std::string> types;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) types.insert(line.substr(7, line.find(' ', 7) - 7));
    if (line.starts_with("#")) continue;
    const std::size_t space = line.rfind(' ');
    EXPECT_NE(space, std::string::npos) << line;
    const std::string name = line.substr(0, line.find_first_of("{ "));
    bool typed = types.contains(name);
    for (const char* suffix : {"_bucket", "_sum", "_count"})
      if (name.ends_with(suffix))
        typed = typed || types.contains(name.substr(0, name.size() - std::string(suffix).size()));
    EXPECT_TRUE(typed) << line;
    EXPECT_TRUE(out.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << line;
  }
  return out;
}

const std::string kRead = R"({program="nfs",version="3",procedure="READ"})";

TEST(ReportTest, AddsTheReportsOfThreads) {
  Report sum;
  sum.add(report_of(10));
  sum.add(report_of(5));
  ASSERT_EQ(sum.procedures.size(), 2u);
  EXPECT_EQ(sum.procedures[0].statistics.calls(), 15u);
  EXPECT_EQ(sum.procedures[1].statistics.latency.count(), 30u);
  EXPECT_EQ(sum.procedures[1].statistics.failures[0].count, 2u);
  ASSERT_EQ(sum.fabrics.size(), 1u);
  EXPECT_EQ(sum.fabrics[0].traffic.calls, 45u);
  EXPECT_EQ(sum.fabrics[0].counters.frames_sent, 14u);
  ASSERT_EQ(sum.listeners.size(), 1u);
  EXPECT_EQ(sum.listeners[0].traffic.calls, 45u);
}

TEST(ReportTest, KeepsTheBusiestConnections) {
  Report sum;
  for (int worker = 0; worker < 4; ++worker) {
    std::vector<transport::ConnectionReport> connections(60);
    for (std::size_t i = 0; i < connections.size(); ++i)
      connections[i].statistics.calls = i * 4 + static_cast<std::size_t>(worker);
    FabricUse use;
    use.name = "iwarp";
    sum.add(std::move(use), std::move(connections));
  }
  ASSERT_EQ(sum.busiest.size(), kMostConnections);
  for (std::size_t i = 0; i < kMostConnections; ++i) EXPECT_EQ(sum.busiest[i].statistics.calls, 239 - i);
}

TEST(PrometheusTest, HasEachValueOnce) {
  const auto found = samples(prometheus_text(report_of(10), "1.2.3"));
  EXPECT_EQ(found.at("rpcrdma_calls_total" + kRead), 20);
  EXPECT_EQ(found.at(R"(rpcrdma_failures_total{program="nfs",version="3",procedure="READ",status="70"})"), 1);
  EXPECT_EQ(found.at(R"(rpcrdma_call_forms_total{fabric="iwarp",form="inline"})"), 10);
  EXPECT_EQ(found.at(R"(rpcrdma_procedure_forms_total{program="nfs",version="3",procedure="READ",form="write_chunk"})"),
            20);
  EXPECT_EQ(found.at(R"(rpcrdma_procedure_forms_total{program="nfs",version="3",procedure="READ",form="inline"})"), 0);
  EXPECT_EQ(found.at(R"(rpcrdma_listener_calls_total{listener="127.0.0.1:20049",fabric="iwarp"})"), 30);
  EXPECT_EQ(found.at(R"(rpcrdma_listener_bytes_total{listener="127.0.0.1:20049",fabric="iwarp",direction="sent"})"), 8);
  EXPECT_EQ(found.at(R"(rpcrdma_build_info{version="1.2.3"})"), 1);
  EXPECT_EQ(found.at(R"(rpcrdma_iwarp_frames_total{direction="sent"})"), 7);
  EXPECT_EQ(found.at("rpcrdma_iwarp_retransmissions_total"), 4);
}

TEST(PrometheusTest, HistogramsAreCumulative) {
  const auto found = samples(prometheus_text(report_of(10), ""));
  EXPECT_EQ(found.at("rpcrdma_call_duration_seconds_count" + kRead), 20);
  EXPECT_NEAR(found.at("rpcrdma_call_duration_seconds_sum" + kRead), 210e-6, 1e-12);
  double last = 0;
  for (const auto& [name, value] : found) {
    if (!name.starts_with("rpcrdma_call_duration_seconds_bucket{") || name.find("READ") == name.npos) continue;
    if (name.find("+Inf") != name.npos) {
      EXPECT_EQ(value, 20);
    }
    last = std::max(last, value);
  }
  EXPECT_EQ(last, 20);
  EXPECT_EQ(found.at(R"(rpcrdma_call_size_bytes_bucket{program="nfs",version="3",procedure="READ",le="127"})"), 20);
  EXPECT_EQ(found.at(R"(rpcrdma_reply_size_bytes_bucket{program="nfs",version="3",procedure="READ",le="2047"})"), 0);
  EXPECT_EQ(found.at(R"(rpcrdma_reply_size_bytes_bucket{program="nfs",version="3",procedure="READ",le="8191"})"), 20);
}

TEST(PrometheusTest, TheStartTimeStaysTheSame) {
  const Report report = report_of(1);
  const double first = samples(prometheus_text(report, "")).at("process_start_time_seconds");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(samples(prometheus_text(report, "")).at("process_start_time_seconds"), first);
}

TEST(PrometheusTest, EscapesLabels) {
  Report report;
  FabricUse use;
  use.name = "a\"b\\c\nd";
  report.add(std::move(use), {});
  EXPECT_EQ(samples(prometheus_text(report, "")).count(R"(rpcrdma_connections{fabric="a\"b\\c\nd"})"), 1u);
}

// The text in Prometheus format has no line for a connection. The error statuses of one procedure, however many there
// are, add at most 17 lines.
TEST(PrometheusTest, ConnectionsAndStatusesMakeNoMoreLines) {
  Report many = report_of(10);
  for (std::uint32_t status = 1; status <= 1000; ++status) many.procedures[0].statistics.fail(status);
  many.busiest.resize(kMostConnections);
  const std::size_t before = samples(prometheus_text(report_of(10), "")).size();
  EXPECT_LE(samples(prometheus_text(many, "")).size(), before + 17);
}

TEST(JsonTest, HasConnectionsAndBuckets) {
  Report report = report_of(1);
  report.busiest.resize(1);
  report.busiest[0].peer = {boost::asio::ip::make_address("::1"), 700};
  report.busiest[0].fabric = "iwarp";
  report.busiest[0].procedures.push_back({{100003, 3, 6, "READ"}, 12});
  const std::string text = json_text(report, "1.2.3");
  EXPECT_NE(text.find(R"("peer":"[::1]:700")"), text.npos) << text;
  EXPECT_NE(text.find(R"("latency_ns":{"count":1,"sum":1000,"buckets":[[960,1023,1]]})"), text.npos) << text;
  EXPECT_NE(text.find(R"("inline_calls":1)"), text.npos);
  EXPECT_NE(text.find(R"("procedures":[{"program":"nfs","version":3,"procedure":"READ","calls":12}])"), text.npos);
  EXPECT_NE(text.find(R"("chunks":{"inline":0,"long":0,"read_chunk":0,"write_chunk":1,"reply_chunk":0})"), text.npos);
}

}  // namespace
}  // namespace rpcrdma::observe
