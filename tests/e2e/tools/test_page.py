# SPDX-License-Identifier: BSD-3-Clause
"""The live page in headless Chromium: what it shows is compared with the statistics that it has fetched, and with those
that the test fetches before and after. The layout and the colours are checked as well."""
import collections
import re
import struct

from kit.browser import Browser, needs_browser
from kit.case import Case
from kit.fabric import iwarp_peers_only
from kit.load import Load
from kit.metrics import OPTIONS, stats
from kit.waiting import wait_until
from kit.wire import nfs
from kit.wire.rpc import ERR_CHUNK, ERR_VERS, GETATTR, LOOKUP, MKDIR, MSG, NFS, RpcPeer, call, header, opaque

# What the page shows, and the two samples between which it draws the change: its oldest and its newest.
LOOK = """(() => {
  const texts = list => [...list].map(e => e.textContent), all = query => document.querySelectorAll(query);
  const table = id => [...all("#" + id + " tr")].slice(1).map(row => texts(row.children));
  const pairs = (names, values) => {
    names = texts(all(names));
    return Object.fromEntries(texts(all(values)).map((v, i) => [names[i], v]));
  };
  return {state: texts(all("#state"))[0], samples: [samples[0], samples[samples.length - 1]],
    marked: texts(all(".badge")), tiles: pairs(".tile span", ".tile b"),
    procedures: table("procedures"), connections: table("connections"), listeners: table("listeners"),
    errors: pairs("#errors dt", "#errors dd"), fabrics: pairs("#fabrics dt", "#fabrics dd"),
    forms: pairs("#forms span:not(.soft)", "#forms span.soft")};
})()"""
# The elements that a reader must scroll the page sideways to see. Tables scroll within their cards.
CUT_OFF = """[...document.querySelectorAll("body *")]
  .filter(e => !e.closest(".scroll *") && e.getBoundingClientRect().right > innerWidth)
  .map(e => e.tagName + " " + e.textContent)"""
# `colours`: [name, colour, colour behind it] of each element with text of its own, and of each colour of the charts.
COLOURS = """(() => {
  const behind = e => {
    const colour = getComputedStyle(e).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" ? behind(e.parentElement) : colour;
  };
  const own = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
  const colours = [...document.querySelectorAll("main, main *")].filter(e => e.tagName !== "SCRIPT" && own(e))
    .map(e => [e.tagName + " " + e.textContent, getComputedStyle(e).color, behind(e)]);
  const g = document.createElement("canvas").getContext("2d"), root = getComputedStyle(document.documentElement);
  for (const name of ["--soft", "--a", "--b", "--c"]) {
    g.fillStyle = root.getPropertyValue(name);
    g.fillRect(0, 0, 1, 1);
    const [red, green, blue] = g.getImageData(0, 0, 1, 1).data;
    colours.push(["chart " + name, `rgb(${red}, ${green}, ${blue})`, behind(document.querySelector("canvas"))]);
  }
  return {colours, body: [getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]};
})()"""
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 1,
         "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
MOVED = ("receive_bytes", "read_bytes"), ("send_bytes", "write_bytes")  # received and sent
READABLE = 4.5  # the contrast that WCAG 2 asks for


def quantile(now, before, part):
    """The bound below which `part` of the durations lie that `now` has and `before` lacks; None if there are none."""
    counts = {}
    for sign, histograms in ((1, now), (-1, before)):
        for low, high, count in (bucket for one in histograms for bucket in one["buckets"]):
            counts[low, high] = counts.get((low, high), 0) + sign * count
    seen, total = 0, sum(counts.values())
    for (_, high), count in sorted(counts.items()):
        seen += count
        if count and seen >= part * total:
            return high
    return None


def luminance(colour):
    red, green, blue = (int(part) / 255 for part in re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour).groups())
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def name_of(procedure):
    program = procedure["program"]
    return ("" if program == "nfs" else program + " ") + procedure["procedure"]


@needs_browser
class Page(Case):
    timeout_s = 240

    def open(self, server):
        browser = self.enterContext(Browser(self.folder / "browser"))
        browser.show(f"http://{server.metrics}/")
        return browser

    def look(self, browser, server):
        """What the page shows once it has a report that is newer than this call."""
        least = stats(server)["age_ms"]

        def fresh():
            page = browser.evaluate(LOOK)
            return page["state"] == "live" and page["samples"][1]["age_ms"] > least and page

        return wait_until(fresh, "a newer page", interval_s=0.1)

    def near(self, shown, value):
        """Checks that the text shows the value, as exactly as its digits allow."""
        if value is None:
            self.assertEqual(shown, "–")
            return
        less, digits, unit = re.fullmatch(r"(< )?([0-9.]+) ?([^/]*)(?:/s)?", shown).groups()
        if less:
            self.assertTrue(0 < value < float(digits) * UNITS[unit], f"{shown}: {value}")
            return
        last = 10.0 ** -len(digits.partition(".")[2]) * UNITS[unit]
        self.assertAlmostEqual(float(digits) * UNITS[unit], value, delta=last, msg=shown)

    def compare(self, page):
        """Compares the rates, percentiles and totals with those computed from the samples."""
        before, now = page["samples"]
        seconds = (now["age_ms"] - before["age_ms"]) / 1000
        old = {name_of(one): one for one in before["procedures"]}
        nothing = {"calls": 0, "call_bytes": {"sum": 0}, "reply_bytes": {"sum": 0}, "latency_ns": {"buckets": []}}
        rows = {row[0]: row for row in page["procedures"]}
        self.assertEqual(set(rows), {name_of(one) for one in now["procedures"]})
        sums = [0, 0, 0]
        for one in now["procedures"]:
            past, row = old.get(name_of(one), nothing), rows[name_of(one)]
            rates = [(one["calls"] - past["calls"]) / seconds,
                     *((one[size]["sum"] - past[size]["sum"]) / seconds for size in ("call_bytes", "reply_bytes"))]
            parts = [quantile([one["latency_ns"]], [past["latency_ns"]], part) for part in (0.5, 0.99)]
            for shown, value in zip(row[1:6] + [row[7]], [*rates, *parts, one["calls"]]):
                self.near(shown, value)
            sums = [total + rate for total, rate in zip(sums, rates)]
        histograms = [[one["latency_ns"] for one in sample["procedures"]] for sample in (now, before)]
        open_now = now["connections"]["open"] + now["tcp"]["open"]
        values = {"calls a second": sums[0], "received": sums[1], "sent": sums[2], "connections": open_now,
                  "median latency": quantile(*histograms, 0.5), "99 % below": quantile(*histograms, 0.99),
                  "processor": 100 * (now["cpu_seconds"] - before["cpu_seconds"]) / seconds}
        for name, value in values.items():
            self.near(page["tiles"][name], value)
        self.compare_connections(page["connections"], before, now, seconds)
        for row, one in zip(page["listeners"], now["listeners"]):
            self.assertEqual(row[:3], [one["listener"], one["fabric"], str(one["open"])])
            for shown, names in zip(row[6:9], (("calls",), *MOVED)):
                self.near(shown, sum(one["traffic"][name] for name in names))
        [traffic] = [one["traffic"] for one in now["fabrics"]]
        for name in ("inline", "Read chunk", "Write chunk"):
            calls = traffic[name.lower().replace(" ", "_") + "_calls"]
            self.near(page["forms"][name], 100 * calls / traffic["calls"])
        self.near(page["fabrics"]["RDMA Reads"], traffic["reads"])
        self.near(page["fabrics"]["RDMA Writes"], traffic["writes"])

    def compare_connections(self, rows, before, now, seconds):
        listed = [str(one["connection"]) for one in now["busiest_connections"]]
        self.assertEqual([row[0] for row in rows], listed or ["none open"])
        old = {one["connection"]: one["traffic"] for one in before["busiest_connections"]}
        for row, one in zip(rows, now["busiest_connections"]):
            self.assertEqual(row[1:3], [one["peer"], one["fabric"]])
            self.assertEqual(row[6:8], [str(one["calls_in_progress"]), str(one["credits"])])
            age = one["age_ms"] / 1000
            if one["connection"] in old or age <= seconds:  # else it is an older connection that was not listed before
                now_of, was = one["traffic"], old.get(one["connection"], collections.Counter())
                for shown, names in zip(row[3:6], (("calls",), *MOVED)):
                    self.near(shown, sum(now_of[name] - was[name] for name in names) / min(seconds, max(age, 1)))

    def test_an_idle_server(self):
        server = self.server(options=OPTIONS)
        page = self.look(self.open(server), server)
        self.assertEqual(page["procedures"], [["none yet"]])
        self.assertEqual(page["connections"], [["none open"]])
        self.assertEqual(page["listeners"], [[server.address, server.fabric[0], *["0"] * 5, "0 B", "0 B", "0"]])
        self.assertEqual(page["marked"], [])

    def test_formats(self):
        browser = self.open(self.server(options=OPTIONS))
        self.assertEqual(browser.evaluate("[0, 0.02, 99.97, 180].map(percent)"), ["0 %", "< 0.1 %", "100 %", "180 %"])
        self.assertEqual(browser.evaluate("[0, 0.01, 1.96, 7, 12.34, 1234].map(count)"),
                         ["0", "< 0.1", "2.0", "7", "12.3", "1.23k"])

    def test_numbers(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        for _ in range(3):
            self.nfs_fails("stat", server.url("memory/none"))
        rows = {row[0]: row for row in self.look(self.open(server), server)["procedures"]}
        self.assertEqual({name for name in rows if not name.startswith("mount")},
                         {one["procedure"] for one in stats(server)["procedures"] if one["program"] == "nfs"})
        self.assertEqual(rows["LOOKUP"][9], "NOENT 3")
        self.assertEqual(rows["READDIR"][7], "1")

    def test_under_load(self):
        server = self.server(options=[*OPTIONS, "--threads", "2"])
        browser = self.open(server)
        with Load(self, server) as load:
            before = stats(server)

            def all_called():
                page = self.look(browser, server)
                called = {row[0] for row in page["procedures"] if row[1] != "0"}
                return {"NULL", "READ", "WRITE"} <= called and page["samples"][0]["age_ms"] > before["age_ms"] and page

            page = wait_until(all_called, "rates of all kinds of calls", interval_s=0.1)
            after = stats(server)
        self.compare(page)
        # The counts that the page has fetched lie between those that the test fetched before and after.
        totals = [{name_of(one): one["calls"] for one in sample["procedures"]}
                  for sample in (before, *page["samples"], after)]
        for name in totals[0]:
            counts = [one[name] for one in totals]
            self.assertEqual(counts, sorted(counts), name)
        self.assertLess(totals[0]["NULL"], totals[3]["NULL"])
        ping = load.connection_of_ping(after)
        [row] = [row for row in page["connections"] if row[0] == str(ping["connection"])]
        self.assertEqual((row[1], row[9][:4]), (ping["peer"], "NULL"))
        self.assertNotEqual(row[3], "0")

        def quiet():
            page = self.look(browser, server)
            return page if page["tiles"]["calls a second"] == "0" and page["connections"] == [["none open"]] else None

        page = wait_until(quiet, "rates of 0", interval_s=0.1)
        self.compare(page)
        # The threads report in any order.
        self.assertEqual(*({name_of(one): one for one in sample["procedures"]}
                           for sample in (page["samples"][1], stats(server))))
        self.assertEqual(page["tiles"]["median latency"], "–")
        self.near(page["listeners"][0][3], load.copies + 1)

    @iwarp_peers_only("drives iWARP by hand")
    def test_after_errors(self):
        server = self.server(options=[*OPTIONS, "--max-connections", "3"])
        browser = self.open(server)
        self.look(browser, server)
        self.troubles(server)
        page = self.look(browser, server)
        for drawn in ("results", "faults", "open"):
            self.assertTrue(browser.evaluate(f"points.some(p => p.{drawn} > 0)"), drawn)
        rows = {row[0]: row for row in page["procedures"]}
        self.assertEqual({name: rows[name][9] for name in ("LOOKUP", "MKDIR", "GETATTR")},
                         {"LOOKUP": "NOENT 2, ACCES 1", "MKDIR": "EXIST 1", "GETATTR": "BADHANDLE 1"})
        self.assertEqual(rows["mount MNT"][9], "–")
        expected = {"ERR_VERS": "1", "ERR_CHUNK": "2", "calls rejected": "1", "connections refused": "1",
                    "messages dropped": "0", "CRC errors": "0"}
        self.assertEqual({name: page["errors"][name] for name in expected}, expected)
        self.assertEqual(page["tiles"]["transport errors"], "3")
        self.assertEqual(page["listeners"][0][4], "1")
        self.assertEqual(page["listeners"][0][9], "3")
        self.assertEqual(sorted(page["marked"]),
                         sorted(["3", "NOENT 2, ACCES 1", "EXIST 1", "BADHANDLE 1", "1", "3", "1", "2", "1", "1"]))

    def troubles(self, server):
        """Causes errors of several kinds. Leaves three connections open, which is the limit."""
        first, second, third = (self.enterContext(RpcPeer(server.address)) for _ in range(3))
        xid = first.next_xid()
        self.assertEqual(first.transport_error(header(xid, version=7) + call(xid), xid)[1], ERR_VERS)
        for _ in range(2):
            xid = second.next_xid()
            garbled = header(xid, MSG, struct.pack(">III", 2, 0, 0)) + call(xid)
            self.assertEqual(second.transport_error(garbled, xid)[1], ERR_CHUNK)
        top = third.mount("/memory")
        lookup, mkdir = (LOOKUP, nfs.place(top, b"none")), nfs.mkdir(top, b"d")
        for question, status in ((lookup, nfs.NOENT), (lookup, nfs.NOENT), (mkdir, nfs.OK), (mkdir, nfs.EXIST),
                                 ((GETATTR, opaque(bytes(32))), nfs.BADHANDLE)):
            self.assertEqual(nfs.ask(third, *question)[0], status)
        closed = nfs.handle_of_new(nfs.ask(third, MKDIR, nfs.place(top, b"closed") + nfs.mode_of(0o700))[1])
        xid = third.next_xid()
        third.send(header(xid) + call(xid, NFS, 3, LOOKUP, nfs.place(closed, b"none"), uid=12345, gid=12345))
        self.assertEqual(struct.unpack_from(">I", third.reply_to(xid)[1], 12 + 24)[0], nfs.ACCES)
        xid = third.next_xid()
        third.send(header(xid) + call(xid, NFS, 3, 77))
        third.reply_to(xid)
        with self.assertRaises((AssertionError, OSError)), RpcPeer(server.address) as refused:
            refused.null()
        wait_until(lambda: stats(server)["connections"]["refused"], "the refused connection")

    @iwarp_peers_only("drives iWARP by hand")
    def test_narrow_windows(self):
        server = self.server(options=[*OPTIONS, "--max-connections", "3"])
        browser = self.open(server)
        browser.resize(390, 844)
        for trouble in (None, self.troubles):
            if trouble:
                trouble(server)
            for width, height in ((390, 844), (320, 568), (768, 1024), (1024, 600)):
                browser.resize(width, height)
                self.look(browser, server)
                # A telephone zooms out if the page is wider.
                self.assertEqual(browser.evaluate("innerWidth"), width)
                self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width)
                self.assertEqual(browser.evaluate(CUT_OFF), [], width)
        # A table keeps its scroll position when a new one replaces it.
        browser.resize(390, 844)
        scrolled = "document.getElementById('procedures').parentElement.scrollLeft"
        browser.evaluate(f"{scrolled} = 100")
        self.look(browser, server)
        self.assertEqual(browser.evaluate(scrolled), 100)

    @iwarp_peers_only("drives iWARP by hand")
    def test_colours(self):
        server = self.server(options=[*OPTIONS, "--max-connections", "3"])
        browser = self.open(server)
        self.troubles(server)
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            self.look(browser, server)
            seen = browser.evaluate(COLOURS)
            ink, paper = map(luminance, seen["body"])
            self.assertEqual(ink > paper, scheme == "dark", seen["body"])
            kinds = {text.split(" ")[0] for text, _, _ in seen["colours"]}
            self.assertLessEqual({"H1", "H2", "TH", "TD", "DT", "DD", "SPAN", "B", "A", "FOOTER", "chart"}, kinds)
            faint = [[*one, contrast(*one[1:])] for one in seen["colours"] if contrast(*one[1:]) < READABLE]
            self.assertEqual(faint, [], scheme)

    def test_a_server_that_goes_away_and_comes_back(self):
        server = self.server(options=OPTIONS)
        self.nfs("ls", server.url("memory"))
        browser = self.open(server)
        self.look(browser, server)
        address = server.metrics
        server.kill()
        wait_until(lambda: browser.evaluate(LOOK)["state"].startswith("no answer for "), "that the page says so",
                   interval_s=0.1)
        seen = browser.evaluate(COLOURS)["colours"]
        [lost] = [one for one in seen if "no answer" in one[0] and one[0].startswith("SPAN")]
        self.assertGreaterEqual(contrast(*lost[1:]), READABLE)
        server.options = ["--metrics", address]
        server.start()
        page = self.look(browser, server)
        self.assertEqual(page["procedures"], [["none yet"]])
