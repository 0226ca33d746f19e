// SPDX-License-Identifier: BSD-3-Clause
#include <boost/json/src.hpp>  // compiled here, so that libboost-json need not be linked
#include <chrono>

#include "process_use.hpp"
#include "rpcrdma/observe/metrics/text.hpp"

namespace rpcrdma::observe {
namespace {

namespace json = boost::json;

/// "buckets" contains [lowest, highest, count] of each bucket that is not empty.
json::object of(const Histogram& histogram) {
  json::array buckets;
  histogram.for_each([&buckets](std::uint64_t low, std::uint64_t high, std::uint64_t count) {
    buckets.push_back(json::array{low, high, count});
  });
  return {{"count", histogram.count()}, {"sum", histogram.sum()}, {"buckets", std::move(buckets)}};
}

json::object of(const Procedure& procedure) {
  const rpc::ProcedureStatistics& from = procedure.statistics;
  json::object failures;
  for (const auto& failure : from.failures)
    if (failure.count != 0) failures[std::to_string(failure.status)] = failure.count;
  if (from.other_failures != 0) failures["other"] = from.other_failures;
  return {{"program", program_name(procedure.program)},
          {"version", procedure.version},
          {"procedure", procedure.name},
          {"calls", from.calls()},
          {"replayed", from.replayed},
          {"replies", from.replies()},
          {"errors", from.errors},
          {"failures", std::move(failures)},
          {"chunks", json::object{{"inline", from.inline_calls()},
                                  {"long", from.calls_with(transport::kPositionZero)},
                                  {"read_chunk", from.calls_with(transport::kReadChunk)},
                                  {"write_chunk", from.calls_with(transport::kWriteChunk)},
                                  {"reply_chunk", from.calls_with(transport::kReplyChunk)}}},
          {"latency_ns", of(from.latency)},
          {"call_bytes", of(from.call_size)},
          {"reply_bytes", of(from.reply_size)}};
}

json::object of(const transport::Traffic& traffic) {
  json::object out;
  for (const auto& field : transport::Traffic::fields()) out[field.name] = traffic.*field.member;
  return out;
}

json::object of(const FabricUse& use) {
  const fabric::Counters& c = use.counters;
  return {{"fabric", use.name},
          {"connections", use.connections},
          {"regions", use.regions},
          {"registered_bytes", use.pool.registered_octets},
          {"buffers_in_use", use.pool.lent},
          {"work_requests", c.work_requests},
          {"completions", c.completions},
          {"batches", c.batches},
          {"copied_bytes", c.copied},
          {"device_losses", c.reopened},
          {"frames_sent", c.frames_sent},
          {"frames_received", c.frames_received},
          {"crc_errors", c.crc_errors},
          {"socket_reads", c.socket_reads},
          {"socket_writes", c.socket_writes},
          {"wakeups", c.wakeups},
          {"traffic", of(use.traffic)}};
}

json::object of(const transport::ProcedureCalls& one) {
  return {{"program", program_name(one.procedure.program)},
          {"version", one.procedure.version},
          {"procedure", one.procedure.name},
          {"calls", one.calls}};
}

json::object of(const transport::ConnectionReport& one) {
  json::array procedures;
  for (const transport::ProcedureCalls& procedure : one.procedures) procedures.push_back(of(procedure));
  return {{"connection", one.number},
          {"peer", text_of(one.peer)},
          {"fabric", one.fabric},
          {"age_ms", one.age.count()},
          {"rdma_version", one.version},
          {"inline_send", one.inline_send},
          {"inline_receive", one.inline_receive},
          {"remote_invalidation", one.remote_invalidation},
          {"calls", one.statistics.calls},
          {"calls_in_progress", one.statistics.calls_in_progress},
          {"credits", one.statistics.credits},
          {"bulk_bytes", one.statistics.bulk_bytes},
          {"procedures", std::move(procedures)},
          {"traffic", of(one.traffic)}};
}

json::object of(const Listener& one) {
  return {{"listener", text_of(one.counters.endpoint)},
          {"fabric", one.fabric},
          {"open", one.counters.connections},
          {"accepted", one.counters.accepted},
          {"refused", one.counters.refused},
          {"failed", one.counters.failed},
          {"traffic", of(one.traffic)}};
}

template <class Range>
json::array list_of(const Range& range) {
  json::array out;
  for (const auto& one : range) out.push_back(of(one));
  return out;
}

json::object of(const CaptureUse& from) {
  return {{"running", from.running}, {"frames", from.frames}, {"dropped", from.dropped}, {"bytes", from.bytes}};
}

json::object of(const rpc::Dispatcher::Counters& from) {
  return {{"rpc_mismatch", from.rpc_mismatch},
          {"auth_error", from.bad_auth},
          {"program_unavailable", from.program_unavailable},
          {"program_mismatch", from.program_mismatch},
          {"procedure_unavailable", from.procedure_unavailable},
          {"garbage_args", from.garbage_args}};
}

}  // namespace

std::string json_text(const Report& report, std::string_view version) {
  const ProcessUse use = ProcessUse::now();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const json::object out{
      {"version", version},
      {"time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()},
      {"age_ms", std::chrono::duration_cast<std::chrono::milliseconds>(report.age).count()},
      {"cpu_seconds", use.cpu_seconds},
      {"resident_bytes", use.resident_bytes},
      {"descriptors", report.descriptors},
      {"calls", report.dispatched.calls},
      {"rejected", of(report.dispatched)},
      {"connections", json::object{{"open", report.server.connections},
                                   {"accepted", report.server.accepted},
                                   {"refused", report.server.refused}}},
      {"tcp", json::object{{"open", report.tcp.connections},
                           {"accepted", report.tcp.accepted},
                           {"refused", report.tcp.refused},
                           {"calls", report.tcp.calls}}},
      {"listeners", list_of(report.listeners)},
      {"bulk_bytes", report.server.bulk_in_use},
      {"message_buffer_bytes", report.server.receive_octets},
      {"duplicates", json::object{{"entries", report.duplicates.entries},
                                  {"bytes", report.duplicates.bytes},
                                  {"replayed", report.duplicates.replayed},
                                  {"attached", report.duplicates.attached},
                                  {"evicted", report.duplicates.evicted}}},
      {"loop", json::object{{"found_by_polling", report.waits.found}, {"blocked", report.waits.blocks}}},
      {"capture", report.capture ? json::value(of(*report.capture)) : json::value()},
      {"procedures", list_of(report.procedures)},
      {"fabrics", list_of(report.fabrics)},
      {"busiest_connections", list_of(report.busiest)}};
  return json::serialize(out);
}

}  // namespace rpcrdma::observe
