# SPDX-License-Identifier: BSD-3-Clause
"""Reads the statistics that a server with --metrics publishes by HTTP."""
import http.client
import json
import re

from kit.waiting import DEADLINE_S

OPTIONS = ("--metrics", "127.0.0.1:0")
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? ([0-9.e+-]+|\+Inf|NaN)')


def fetch(server, path, method="GET", **headers):
    """(status, headers, body) of one request."""
    host, port = server.metrics.rsplit(":", 1)
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=DEADLINE_S)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def stats(server):
    status, _, body = fetch(server, "/stats.json")
    assert status == 200, status
    return json.loads(body)


def scrape(server):
    """The samples of /metrics."""
    status, headers, body = fetch(server, "/metrics")
    assert status == 200, status
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4"), headers
    return samples(body.decode())


def samples(text):
    """{(name, labels as a frozenset of pairs): value} in the text of /metrics; every line must be well-formed."""
    out = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.match(r"# (HELP|TYPE) \w+ .", line), line
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        labels = frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match.group(2) or ""))
        assert (match.group(1), labels) not in out, line
        out[match.group(1), labels] = float(match.group(3))
    return out


def sum_of(samples, name, **labels):
    """The sum of the samples of a family that have these labels."""
    wanted = set(labels.items())
    return sum(value for (family, has), value in samples.items() if family == name and wanted <= has)
