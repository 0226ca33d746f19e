// SPDX-License-Identifier: BSD-3-Clause
#include <prometheus/text_serializer.h>

#include <chrono>
#include <functional>
#include <sstream>

#include "process_use.hpp"
#include "rpcrdma/observe/metrics/text.hpp"

namespace rpcrdma::observe {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

template <class Number>
double value_of(Number number) {
  return static_cast<double>(number);
}

/// Collects the metric families of one exposition. The caller calls begin() once for each family, and then add() for
/// each metric of that family. counter() and gauge() do both for a family of one metric.
class Families {
 public:
  void begin(std::string name, std::string help, MetricType type) {
    families_.push_back({std::move(name), std::move(help), type, {}});
  }
  template <class Number>
  void counter(const char* name, const char* help, Number value) {
    begin(name, help, MetricType::Counter);
    add(value, {});
  }
  template <class Number>
  void gauge(const char* name, const char* help, Number value) {
    begin(name, help, MetricType::Gauge);
    add(value, {});
  }
  /// Adds a metric to the family that was begun last.
  template <class Number>
  void add(Number value, Labels labels) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = metric.gauge.value = value_of(value);
    families_.back().metric.push_back(std::move(metric));
  }
  /// Adds a histogram to the family that was begun last. The upper bounds of its buckets are (2^n - 1) * `scale`, for n
  /// from `low` to `high` in steps of `step`, and infinity. `scale` converts the values of `histogram` to the unit of
  /// the metric. The sum is also multiplied by `scale`.
  void add(const Histogram& histogram, unsigned low, unsigned high, unsigned step, double scale, Labels labels) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram.sample_count = histogram.count();
    metric.histogram.sample_sum = value_of(histogram.sum()) * scale;
    for (unsigned bits = low; bits <= high; bits += step) {
      const std::uint64_t bound = std::uint64_t{1} << bits;
      // In Prometheus, a bucket includes the values that are equal to its upper bound. The values of `histogram` are
      // integers, so the bucket of the values below `bound` has the upper bound `bound` - 1.
      metric.histogram.bucket.push_back({histogram.count_below(bound), value_of(bound - 1) * scale});
    }
    metric.histogram.bucket.push_back({histogram.count(), std::numeric_limits<double>::infinity()});
    families_.back().metric.push_back(std::move(metric));
  }
  std::string text() const {
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families_);
    return out.str();
  }

 private:
  std::vector<MetricFamily> families_;
};

Labels labels_of(const Procedure& procedure) {
  return {{"program", program_name(procedure.program)},
          {"version", std::to_string(procedure.version)},
          {"procedure", std::string(procedure.name)}};
}

template <class Get>
void each_procedure(Families& out, const Report& report, const char* name, const char* help, Get get) {
  out.begin(name, help, MetricType::Counter);
  for (const Procedure& procedure : report.procedures)
    out.add(std::invoke(get, procedure.statistics), labels_of(procedure));
}

void add_failures(Families& out, const Report& report) {
  out.begin("rpcrdma_failures_total", "Results that carry an error of the program, by its number.",
            MetricType::Counter);
  for (const Procedure& procedure : report.procedures) {
    const auto add = [&out, &procedure](std::uint64_t count, std::string status) {
      Labels labels = labels_of(procedure);
      labels.push_back({"status", std::move(status)});
      out.add(count, std::move(labels));
    };
    for (const auto& failure : procedure.statistics.failures)
      if (failure.count != 0) add(failure.count, std::to_string(failure.status));
    if (procedure.statistics.other_failures != 0) add(procedure.statistics.other_failures, "other");
  }
}

void add_chunks(Families& out, const Report& report) {
  out.begin("rpcrdma_procedure_forms_total",
            "Calls of a procedure by the chunks that they offer; a call with several kinds counts for each of them.",
            MetricType::Counter);
  for (const Procedure& procedure : report.procedures) {
    const auto add = [&out, &procedure](const char* form, std::uint64_t count) {
      Labels labels = labels_of(procedure);
      labels.push_back({"form", form});
      out.add(count, std::move(labels));
    };
    const rpc::ProcedureStatistics& from = procedure.statistics;
    add("inline", from.inline_calls());
    add("long", from.calls_with(transport::kPositionZero));
    add("read_chunk", from.calls_with(transport::kReadChunk));
    add("write_chunk", from.calls_with(transport::kWriteChunk));
    add("reply_chunk", from.calls_with(transport::kReplyChunk));
  }
}

void add_procedures(Families& out, const Report& report) {
  using rpc::ProcedureStatistics;
  each_procedure(out, report, "rpcrdma_calls_total", "Calls received, by procedure.", &ProcedureStatistics::calls);
  each_procedure(out, report, "rpcrdma_replayed_total", "Calls answered by the duplicate request cache.",
                 &ProcedureStatistics::replayed);
  each_procedure(out, report, "rpcrdma_reply_errors_total", "Replies without a result, such as SYSTEM_ERR.",
                 &ProcedureStatistics::errors);
  add_failures(out, report);
  add_chunks(out, report);
  constexpr double kNanosecond = 1e-9;
  out.begin("rpcrdma_call_duration_seconds",
            "Time from the arrival of a call until its reply is submitted to the fabric or the socket.",
            MetricType::Histogram);
  for (const Procedure& one : report.procedures)
    out.add(one.statistics.latency, 10, 35, 1, kNanosecond, labels_of(one));
  out.begin("rpcrdma_call_size_bytes", "Size of calls, including the data in chunks.", MetricType::Histogram);
  for (const Procedure& one : report.procedures) out.add(one.statistics.call_size, 7, 21, 2, 1, labels_of(one));
  out.begin("rpcrdma_reply_size_bytes", "Size of replies, including the data in chunks.", MetricType::Histogram);
  for (const Procedure& one : report.procedures) out.add(one.statistics.reply_size, 7, 21, 2, 1, labels_of(one));
}

void add_rejected(Families& out, const rpc::Dispatcher::Counters& from) {
  out.begin("rpcrdma_rejected_calls_total", "Calls answered without running a handler, by reason.",
            MetricType::Counter);
  out.add(from.rpc_mismatch, {{"reason", "rpc_mismatch"}});
  out.add(from.bad_auth, {{"reason", "auth_error"}});
  out.add(from.program_unavailable, {{"reason", "program_unavailable"}});
  out.add(from.program_mismatch, {{"reason", "program_mismatch"}});
  out.add(from.procedure_unavailable, {{"reason", "procedure_unavailable"}});
  out.add(from.garbage_args, {{"reason", "garbage_args"}});
}

void add_duplicates(Families& out, const rpc::DuplicateCache::Counters& from) {
  out.gauge("rpcrdma_duplicate_cache_entries", "Calls in the duplicate request cache.", from.entries);
  out.gauge("rpcrdma_duplicate_cache_bytes", "Bytes of the replies that the duplicate request cache keeps.",
            from.bytes);
  out.begin("rpcrdma_duplicate_calls_total", "Retransmitted calls, by the action of the duplicate request cache.",
            MetricType::Counter);
  out.add(from.replayed, {{"result", "replayed"}});
  out.add(from.attached, {{"result", "attached"}});
  out.counter("rpcrdma_duplicate_cache_evicted_total", "Replies dropped early, to bound the cache.", from.evicted);
}

/// Adds a family with one value for each fabric.
template <class Get>
void each_fabric(Families& out, const Report& report, MetricType type, const char* name, const char* help, Get get) {
  out.begin(name, help, type);
  for (const FabricUse& use : report.fabrics) out.add(get(use), {{"fabric", use.name}});
}

struct Part {
  const char* value;
  std::uint64_t transport::Traffic::*member;
};

/// Adds a family of counters. For each fabric, the family has one counter for each of `parts`: the traffic counter that
/// Part::member names. The label named `label` has the value Part::value and distinguishes the parts.
void each_part(Families& out, const Report& report, const char* name, const char* help, const char* label,
               std::initializer_list<Part> parts) {
  out.begin(name, help, MetricType::Counter);
  for (const FabricUse& use : report.fabrics)
    for (const Part& part : parts) out.add(use.traffic.*part.member, {{"fabric", use.name}, {label, part.value}});
}

void add_traffic(Families& out, const Report& report) {
  using transport::Traffic;
  each_part(out, report, "rpcrdma_operations_total", "Messages and RDMA operations of the server.", "operation",
            {{"send", &Traffic::sends},
             {"receive", &Traffic::receives},
             {"read", &Traffic::reads},
             {"write", &Traffic::writes}});
  each_part(out, report, "rpcrdma_operation_bytes_total", "Bytes of messages and RDMA operations of the server.",
            "operation",
            {{"send", &Traffic::send_bytes},
             {"receive", &Traffic::receive_bytes},
             {"read", &Traffic::read_bytes},
             {"write", &Traffic::write_bytes}});
  each_part(out, report, "rpcrdma_call_forms_total",
            "Calls by the chunks that they offer; a call with several kinds of chunks counts for each of them.", "form",
            {{"inline", &Traffic::inline_calls},
             {"long", &Traffic::long_calls},
             {"read_chunk", &Traffic::read_chunk_calls},
             {"write_chunk", &Traffic::write_chunk_calls},
             {"reply_chunk", &Traffic::reply_chunk_calls}});
  each_fabric(out, report, MetricType::Counter, "rpcrdma_long_replies_total", "Replies sent in a Reply chunk.",
              [](const FabricUse& use) { return use.traffic.long_replies; });
  each_fabric(out, report, MetricType::Counter, "rpcrdma_sends_with_invalidate_total",
              "Replies that have invalidated a handle of the client.",
              [](const FabricUse& use) { return use.traffic.sends_with_invalidate; });
  each_part(out, report, "rpcrdma_errors_total", "RDMA_ERROR messages sent or received.", "code",
            {{"ERR_VERS", &Traffic::version_errors},
             {"ERR_CHUNK", &Traffic::chunk_errors},
             {"other", &Traffic::other_errors}});
  each_fabric(out, report, MetricType::Counter, "rpcrdma_discarded_messages_total", "Messages that were dropped.",
              [](const FabricUse& use) { return use.traffic.discarded; });
  each_part(out, report, "rpcrdma_waits_total", "Calls and operations that had to wait.", "resource",
            {{"send_queue", &Traffic::send_queue_waits},
             {"bulk_memory", &Traffic::budget_waits},
             {"read_depth", &Traffic::read_depth_waits}});
  each_part(out, report, "rpcrdma_credits_total",
            "Sums of the credits that calls have asked for and that replies have granted.", "kind",
            {{"asked", &Traffic::credits_asked}, {"granted", &Traffic::credits_granted}});
}

void add_fabrics(Families& out, const Report& report) {
  constexpr auto kGauge = MetricType::Gauge;
  constexpr auto kCounter = MetricType::Counter;
  each_fabric(out, report, kGauge, "rpcrdma_connections", "Open connections.",
              [](const FabricUse& use) { return use.connections; });
  each_fabric(out, report, kGauge, "rpcrdma_registered_regions", "Memory regions that are registered.",
              [](const FabricUse& use) { return use.regions; });
  each_fabric(out, report, kGauge, "rpcrdma_registered_bytes", "Bytes of the registered buffers.",
              [](const FabricUse& use) { return use.pool.registered_octets; });
  each_fabric(out, report, kGauge, "rpcrdma_buffers_in_use", "Registered buffers in use.",
              [](const FabricUse& use) { return use.pool.lent; });
  each_fabric(out, report, kCounter, "rpcrdma_work_requests_total", "Work requests posted, receives included.",
              [](const FabricUse& use) { return use.counters.work_requests; });
  each_fabric(out, report, kCounter, "rpcrdma_completions_total", "Completions delivered.",
              [](const FabricUse& use) { return use.counters.completions; });
  each_fabric(out, report, kCounter, "rpcrdma_completion_batches_total", "Batches of completions.",
              [](const FabricUse& use) { return use.counters.batches; });
  each_fabric(out, report, kCounter, "rpcrdma_copied_bytes_total", "Payload that the provider copied.",
              [](const FabricUse& use) { return use.counters.copied; });
  each_fabric(out, report, kCounter, "rpcrdma_device_losses_total", "Times that a lost device came into use again.",
              [](const FabricUse& use) { return use.counters.reopened; });
  add_traffic(out, report);
}

void add_iwarp(Families& out, const Report& report) {
  fabric::Counters sum;
  std::uint64_t retransmissions = 0;
  for (const FabricUse& use : report.fabrics) {
    if (use.name != "iwarp") continue;
    sum = use.counters;
    retransmissions = use.traffic.retransmissions;
  }
  out.begin("rpcrdma_iwarp_frames_total", "FPDUs of the iWARP stack in userspace.", MetricType::Counter);
  out.add(sum.frames_sent, {{"direction", "sent"}});
  out.add(sum.frames_received, {{"direction", "received"}});
  out.counter("rpcrdma_iwarp_crc_errors_total", "FPDUs with a wrong CRC.", sum.crc_errors);
  out.begin("rpcrdma_iwarp_socket_calls_total", "Reads and writes of sockets that moved data.", MetricType::Counter);
  out.add(sum.socket_reads, {{"direction", "read"}});
  out.add(sum.socket_writes, {{"direction", "write"}});
  out.counter("rpcrdma_iwarp_retransmissions_total", "TCP segments that the server has sent again.", retransmissions);
  out.counter("rpcrdma_iwarp_wakeups_total", "Times that the event loop reported received data.", sum.wakeups);
}

/// Adds a family with one value for each listener. The configuration determines the number of listeners, so clients
/// cannot increase the number of values.
template <class Get>
void each_listener(Families& out, const Report& report, MetricType type, const char* name, const char* help, Get get) {
  out.begin(name, help, type);
  for (const Listener& one : report.listeners)
    out.add(std::invoke(get, one.counters), {{"listener", text_of(one.counters.endpoint)}, {"fabric", one.fabric}});
}

/// Adds families with the traffic of each listener for RDMA.
void add_listener_traffic(Families& out, const Report& report) {
  using transport::Traffic;
  const auto each = [&out, &report](const char* name, const char* help, auto add) {
    out.begin(name, help, MetricType::Counter);
    for (const Listener& one : report.listeners)
      if (one.fabric != "tcp")
        add(one.traffic, Labels{{"listener", text_of(one.counters.endpoint)}, {"fabric", one.fabric}});
  };
  each("rpcrdma_listener_calls_total", "Calls received on the connections of a listener.",
       [&out](const Traffic& traffic, Labels labels) { out.add(traffic.calls, std::move(labels)); });
  each("rpcrdma_listener_bytes_total", "Bytes of messages and RDMA operations on the connections of a listener.",
       [&out](const Traffic& traffic, const Labels& labels) {
         Labels received = labels;
         received.push_back({"direction", "received"});
         out.add(traffic.receive_bytes + traffic.read_bytes, std::move(received));
         Labels sent = labels;
         sent.push_back({"direction", "sent"});
         out.add(traffic.send_bytes + traffic.write_bytes, std::move(sent));
       });
  each("rpcrdma_listener_errors_total", "RDMA_ERROR messages on the connections of a listener.",
       [&out](const Traffic& traffic, Labels labels) {
         out.add(traffic.version_errors + traffic.chunk_errors + traffic.other_errors, std::move(labels));
       });
}

void add_listeners(Families& out, const Report& report) {
  using transport::ListenerCounters;
  each_listener(out, report, MetricType::Gauge, "rpcrdma_listener_connections",
                "Connections of a listener that are open or being set up.", &ListenerCounters::connections);
  each_listener(out, report, MetricType::Counter, "rpcrdma_listener_accepted_total", "Connections made.",
                &ListenerCounters::accepted);
  each_listener(out, report, MetricType::Counter, "rpcrdma_listener_refused_total",
                "Connections beyond a limit, or during shutdown.", &ListenerCounters::refused);
  each_listener(out, report, MetricType::Counter, "rpcrdma_listener_failed_total",
                "Handshakes that have failed, as far as the provider sees them.", &ListenerCounters::failed);
  add_listener_traffic(out, report);
}

void add_server(Families& out, const Report& report) {
  out.counter("rpcrdma_connections_accepted_total", "Connections accepted.", report.server.accepted);
  out.counter("rpcrdma_connections_refused_total", "Connections refused because of a limit, or during shutdown.",
              report.server.refused);
  out.gauge("rpcrdma_bulk_bytes_in_use", "Bytes of the budget for bulk data that calls hold.",
            report.server.bulk_in_use);
  out.gauge("rpcrdma_message_buffer_bytes", "Bytes registered for the receives of connections.",
            report.server.receive_octets);
  out.gauge("rpcrdma_tcp_connections", "Open connections of plain TCP.", report.tcp.connections);
  out.counter("rpcrdma_tcp_connections_accepted_total", "Connections of plain TCP accepted.", report.tcp.accepted);
  out.counter("rpcrdma_tcp_connections_refused_total",
              "Connections of plain TCP refused because of a limit, or during shutdown.", report.tcp.refused);
  out.counter("rpcrdma_tcp_calls_total", "Calls received over plain TCP.", report.tcp.calls);
  out.begin("rpcrdma_loop_waits_total", "Waits of the event loops, by how they ended.", MetricType::Counter);
  out.add(report.waits.found, {{"end", "found_by_polling"}});
  out.add(report.waits.blocks, {{"end", "blocked"}});
}

void add_capture(Families& out, const CaptureUse& capture) {
  out.gauge("rpcrdma_capture_running", "1 while frames are recorded, 0 while the capture is stopped.", capture.running);
  out.counter("rpcrdma_capture_frames_total", "Frames that the capture has written.", capture.frames);
  out.counter("rpcrdma_capture_dropped_frames_total", "Frames that the capture has dropped.", capture.dropped);
  out.counter("rpcrdma_capture_bytes_total", "Bytes that the capture has written to files.", capture.bytes);
}

void add_process(Families& out, const Report& report, std::string_view version) {
  const ProcessUse use = ProcessUse::now();
  // Computed once, because readers take another start time for a restart. The age of a report does not grow while the
  // report is kept, and the clock may be set.
  static const auto start = std::chrono::system_clock::now().time_since_epoch() -
                            std::chrono::duration_cast<std::chrono::system_clock::duration>(report.age);
  out.begin("rpcrdma_build_info", "Always 1; the label is the version of the program.", MetricType::Gauge);
  out.add(1, {{"version", std::string(version)}});
  out.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.",
            std::chrono::duration<double>(start).count());
  out.counter("process_cpu_seconds_total", "Processor time of the process.", use.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Resident memory of the process.", use.resident_bytes);
  out.gauge("process_open_fds", "Open file descriptors of the process.", report.descriptors);
}

}  // namespace

std::string prometheus_text(const Report& report, std::string_view version) {
  Families out;
  add_process(out, report, version);
  add_procedures(out, report);
  add_rejected(out, report.dispatched);
  add_duplicates(out, report.duplicates);
  add_server(out, report);
  if (report.capture) add_capture(out, *report.capture);
  add_listeners(out, report);
  add_fabrics(out, report);
  add_iwarp(out, report);
  return out.text();
}

}  // namespace rpcrdma::observe
