# SPDX-License-Identifier: BSD-3-Clause
"""A server that Debian's Prometheus scrapes, and the comparison of all that Prometheus knows with what clients have
counted."""
import shutil
import unittest

from kit.case import Case
from kit.counting import CountingPeer, CountingTcpPeer
from kit.counts import Counts
from kit.fabric import ADDRESS, FABRIC
from kit.metrics import OPTIONS, scrape
from kit.prometheus import Prometheus
from kit.waiting import wait_until

NAMES = 50  # in the export /files, whose list needs a Reply chunk
CONNECTIONS = 64  # the limit, for each transport
# Families whose every value a client has counted too.
EXACT = {"calls_total", "call_duration_seconds_count", "procedure_forms_total", "failures_total", "reply_errors_total",
         "replayed_total", "duplicate_calls_total", "rejected_calls_total", "call_forms_total", "credits_total",
         "operation_bytes_total", "long_replies_total", "sends_with_invalidate_total", "errors_total",
         "discarded_messages_total", "connections_accepted_total", "connections_refused_total", "listener_accepted_total",
         "listener_refused_total", "listener_failed_total", "listener_calls_total", "listener_bytes_total",
         "listener_errors_total", "tcp_calls_total", "tcp_connections_accepted_total", "tcp_connections_refused_total",
         "iwarp_crc_errors_total"}
SIZES = {"call_size_bytes", "reply_size_bytes"}  # histograms that a client has counted too
# Families that only clients written by hand can count. A capture shows the bytes of RDMA Writes, but not the number of
# Writes or frames, nor whether the server waited before a Read.
BY_HAND = {"operations_total", "iwarp_frames_total", "waits_total"}
# Only the server's kernel knows when TCP sends again.
UNKNOWN = {"iwarp_retransmissions_total"}
CHANGES = "SETATTR|WRITE|CREATE|MKDIR|SYMLINK|MKNOD|REMOVE|RMDIR|RENAME|LINK"
# For each family in BY_HAND, and for those that no client counts (except UNKNOWN): the condition that its value meets
# when all clients have left.
INVARIANTS = {
    "build_info": "{} == 1",
    "call_duration_seconds_sum": "{} > 0",
    **dict.fromkeys(("connections", "tcp_connections", "listener_connections", "bulk_bytes_in_use", "device_losses_total",
                     "message_buffer_bytes"), "{} == 0"),
    "duplicate_cache_entries":
        f'{{}} <= sum(rpcrdma_calls_total{{{{procedure=~"{CHANGES}"}}}}) - sum(rpcrdma_replayed_total)',
    # On a fast machine the clients make more changes than the cache has room for.
    "duplicate_cache_evicted_total": f'{{}} <= sum(rpcrdma_calls_total{{{{procedure=~"{CHANGES}"}}}})',
    "duplicate_cache_bytes": "{} <= sum(rpcrdma_reply_size_bytes_sum)",
    "registered_regions": "{} > 0",
    "registered_bytes": "{} > 0",
    "buffers_in_use": "{} == 0",
    "work_requests_total": "{} >= sum(rpcrdma_operations_total)",
    "completions_total": "{} <= sum(rpcrdma_work_requests_total)",
    "completion_batches_total": "0 < {} <= sum(rpcrdma_completions_total)",
    "copied_bytes_total": "{} <= sum(rpcrdma_operation_bytes_total)",
    "iwarp_socket_calls_total": "{} >= 2 * sum(rpcrdma_connections_accepted_total)",
    "iwarp_wakeups_total": "{} > 0",
    "loop_waits_total": "{} > 0",
    "operations_total": "{} > 0",
    "iwarp_frames_total": "{} >= sum(rpcrdma_operations_total)",  # each operation has at least one frame
    "waits_total": "{} <= sum(rpcrdma_operations_total)",
}


def families_of(samples):
    """The names of the families without the prefix rpcrdma_ and, of histograms, the suffix _bucket."""
    names = {name.removeprefix("rpcrdma_") for name, _ in samples if name.startswith("rpcrdma_")}
    return {name.removesuffix("_bucket") if name.endswith("_bucket") else name for name in names}


@unittest.skipUnless(shutil.which("prometheus"), "Debian's package prometheus is not installed")
class Scraped(Case):
    """`self.parts` has the Counts of each client. .counts() makes a new one."""

    timeout_s = 240
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.parts = []
        tcp = ("--tcp-listen", "127.0.0.1:0") * 2
        limits = ("--threads", "2", "--max-connections", str(CONNECTIONS))
        self.one = self.server(listen=(f"{ADDRESS}:0",) * 2, options=[*OPTIONS, *tcp, *limits])
        for index in range(NAMES):
            (self.files / f"name-{index:02}-{'y' * 60}").touch()
        self.prometheus = Prometheus(self.folder / "prometheus", self.one.metrics)
        self.addCleanup(self.prometheus.__exit__)
        self.prometheus.__enter__()

    def counts(self, listener):
        counts = Counts(listener, listener in self.one.tcp)
        self.parts.append(counts)
        return counts

    def peer(self, listener, **handshake):
        kind = CountingTcpPeer if listener in self.one.tcp else CountingPeer
        peer = kind(self.counts(listener), listener, **handshake)
        self.addCleanup(peer.close)
        return peer

    def wait_for_three_scrapes(self, running):
        """Waits until Prometheus has seen three different sums of the calls; an error of the clients ends the wait."""
        seen = set()

        def condition():
            for one in running:
                if one.done():
                    one.result()
            seen.add(self.prometheus.value("sum(rpcrdma_calls_total)"))
            return len(seen - {None}) >= 3

        wait_until(condition, "three scrapes under load", interval_s=0.1)

    def wait_for_the_end(self):
        def nobody():
            now = self.one.counters()  # always current, while a report by HTTP may be some time old
            return now["connections"] == now["tcp_connections"] == 0

        wait_until(nobody, "the end of the connections", interval_s=0.1)

    def wait_for_the_last_scrape(self):
        self.wait_for_the_end()
        self.prometheus.wait_for_a_scrape()

    def by_labels(self, family, select=""):
        """{labels: value} without the labels that a client does not know."""
        return self.prometheus.query(f"sum without (instance, job, fabric, result) (rpcrdma_{family}{select})")

    def assert_counted(self, counted, family):
        found = {labels: value for labels, value in self.by_labels(family).items() if value}
        self.assertEqual(found, counted.of(family))

    def compare(self, by_hand):
        """Compares every family. `by_hand`: all clients were written by hand."""
        counted = Counts()
        for one in self.parts:
            self.assertEqual(one.waiting, {})
            counted += one
        exact = EXACT | BY_HAND if by_hand else EXACT
        for family in sorted(exact):
            with self.subTest(family):
                self.assert_counted(counted, family)
        for family in sorted(SIZES):
            with self.subTest(family):
                self.compare_sizes(family, counted)
        with self.subTest("call_duration_seconds_bucket"):
            answered = counted.of("call_duration_seconds_count")
            self.assertEqual(self.by_labels("call_duration_seconds_bucket", '{le="+Inf"}'),
                             {labels | {("le", "+Inf")}: number for labels, number in answered.items()})
        others = {family: must for family, must in INVARIANTS.items() if family not in exact}
        if FABRIC != "iwarp":
            others.update((family, "{} == 0") for family in others if family.startswith("iwarp_"))
        for family, must in others.items():
            with self.subTest(family):
                expression = must.format(f"sum(rpcrdma_{family})")
                self.assertIsNotNone(self.prometheus.value(expression), f"{expression}: {self.by_labels(family)}")
        with self.subTest("families"):
            samples = scrape(self.one)
            found = families_of(samples)
            histograms = {f"{family}{end}" for family in SIZES for end in ("", "_sum", "_count")}
            known = exact | histograms | set(others) | UNKNOWN | {"call_duration_seconds"}
            self.assertEqual(found, known - self.absent(counted))
            for family in found:
                if family.endswith(("_total", "_sum", "_count")):
                    self.assertEqual(self.prometheus.value(f"max(resets(rpcrdma_{family}[1h]))"), 0, family)
        return counted

    def absent(self, counted):
        """Families that have no samples, because nothing that they count has happened."""
        return {family for family in ("failures_total",) if not counted.of(family)}

    def compare_sizes(self, family, counted):
        sizes = {labels: sizes for (name, labels), sizes in counted.sizes.items() if name == family}
        self.assertEqual(self.by_labels(f"{family}_count"), {labels: sum(of.values()) for labels, of in sizes.items()})
        self.assertEqual(self.by_labels(f"{family}_sum"),
                         {labels: sum(size * number for size, number in of.items()) for labels, of in sizes.items()})
        buckets = self.by_labels(f"{family}_bucket")
        self.assertTrue(buckets)
        for labels, value in buckets.items():
            bound = float(dict(labels)["le"])
            of = sizes[frozenset(label for label in labels if label[0] != "le")]
            self.assertEqual(value, sum(number for size, number in of.items() if size <= bound), labels)
