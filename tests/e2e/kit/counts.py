# SPDX-License-Identifier: BSD-3-Clause
"""Counts what clients know of their calls, from their messages or from their captures, under the names and labels of
the server's /metrics."""
import collections
import struct

from kit.wire import flows, pcapng, rpc
from kit.wire.flows import REQUESTS, SENDS, Header
from kit.wire.pcap import CLIENT, SERVER

NFS_NAMES = ("NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR "
             "READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT").split()
MOUNT_NAMES = "NULL MNT DUMP UMNT UMNTALL EXPORT".split()
ERRORS = {rpc.ERR_VERS: "ERR_VERS", rpc.ERR_CHUNK: "ERR_CHUNK"}
# The names that /metrics gives to the reasons for rejecting a call: for MSG_DENIED by reject_stat, for MSG_ACCEPTED by
# accept_stat (RFC 5531 section 9).
DENIED = ("rpc_mismatch", "auth_error")
REFUSED = {rpc.PROG_UNAVAIL: "program_unavailable", rpc.PROG_MISMATCH: "program_mismatch",
           rpc.PROC_UNAVAIL: "procedure_unavailable", rpc.GARBAGE_ARGS: "garbage_args"}


def _labels(program, version, procedure):
    name, procedures = {rpc.NFS: ("nfs", NFS_NAMES), rpc.MOUNT: ("mount", MOUNT_NAMES)}[program]
    return {"program": name, "version": str(version), "procedure": procedures[procedure]}


def _size(segments):
    return sum(length for _, length, _ in segments)


def _padded(size):
    """The size of a chunk's data in the RPC message, which includes the pad that the chunk leaves out."""
    return size + -size % 4


class Counts:
    """What clients know of their calls to one listener; += adds other Counts. The keys of .counted are (family,
    labels), without the label `fabric`; .sizes has the sizes of calls and replies by the same keys. The families with
    the label `procedure` count a call when it is answered: only then is it known whether the server has decoded its
    arguments."""

    def __init__(self, listener="", tcp=False):
        self.counted = collections.Counter()
        self.sizes = collections.defaultdict(collections.Counter)
        self.listener, self.tcp = {"listener": listener}, tcp
        self.waiting = {}  # the calls without a reply, by XID

    def __iadd__(self, other):
        self.counted.update(other.counted)
        for key, sizes in other.sizes.items():
            self.sizes[key].update(sizes)
        return self

    def add(self, family, number=1, **labels):
        self.counted[family, frozenset(labels.items())] += number

    def of(self, family):
        """{labels: number} without zeros."""
        return {labels: number for (name, labels), number in self.counted.items() if name == family and number}

    # Connections.

    def connection(self, end):
        """Counts a connection by its `end`: the server `accepted` or `refused` it, or it `failed` before that."""
        self.add(f"listener_{end}_total", **self.listener)
        if end != "failed":
            self.add(f"{'tcp_' if self.tcp else ''}connections_{end}_total")

    # RPC-over-RDMA.

    def moved(self, operation, size, number=1):
        """Operations of the server, of `size` bytes in total; `number` is 0 if only their bytes are counted here."""
        self.add("operations_total", number, operation=operation)
        self.add("operation_bytes_total", size, operation=operation)
        direction = "received" if operation in ("receive", "read") else "sent"
        self.add("listener_bytes_total", size, direction=direction, **self.listener)

    def garbled(self, message):
        """Sent: a message with a header that cannot be read."""
        self.moved("receive", len(message))

    def discarded(self, message):
        """Sent: a message that is not answered."""
        self.moved("receive", len(message))
        self.add("discarded_messages_total")

    def sent(self, message, long_call=b""):
        """A call; `long_call` is in its Position-Zero Read chunk."""
        header = Header(message)
        chunks = [segment for position, segment in zip(header.positions, header.reads) if position]
        kinds = {"long": 0 in header.positions, "read_chunk": chunks, "write_chunk": header.writes,
                 "reply_chunk": header.reply}
        forms = [kind for kind, used in kinds.items() if used] or ["inline"]
        for form in forms:
            self.add("call_forms_total", form=form)
        self.add("credits_total", header.credits, kind="asked")
        self.add("listener_calls_total", **self.listener)
        self.moved("receive", len(message))
        self.moved("read", _size(header.reads), 0)
        self._call(long_call or message[header.at:], _padded(_size(chunks)), forms)

    def received(self, message, invalidated=None, long_reply=b"", again=False):
        """A reply or RDMA_ERROR; `long_reply` is in its Reply chunk. `again`: the call had been sent before."""
        self.moved("send", len(message))
        xid, _, credits, procedure = struct.unpack_from(">4I", message)
        self.add("credits_total", credits, kind="granted")
        if procedure == rpc.ERROR:
            self.add("errors_total", code=ERRORS[struct.unpack_from(">I", message, 16)[0]])
            return self.add("listener_errors_total", **self.listener)
        header = Header(message)
        written = _size(header.writes)
        self.moved("write", written + _size(header.reply), 0)
        if invalidated:
            self.add("sends_with_invalidate_total")
        if procedure != rpc.NOMSG:
            return self._reply(xid, message[header.at:], _padded(written), again)
        self.add("long_replies_total")
        if len(long_reply) not in (0, _size(header.reply)):
            raise AssertionError(f"a reply of {len(long_reply)} bytes in {header.reply}")
        return self._reply(xid, long_reply, _padded(written) + _size(header.reply) - len(long_reply), again)

    # Plain TCP.

    def tcp_sent(self, message):
        self.add("tcp_calls_total")
        self._call(message, 0, ["inline"])

    def tcp_received(self, message, again=False):
        self._reply(struct.unpack_from(">I", message)[0], message, 0, again)

    # RPC messages.

    def _call(self, message, in_chunks, forms):
        xid, _, _, *which = struct.unpack_from(">6I", message)
        self.waiting.setdefault(xid, []).append((which, len(message) + in_chunks, forms))

    def _reply(self, xid, message, in_chunks, again):
        """`message` is empty for a long reply whose content is not known; its call must have succeeded."""
        which, size, forms = self.waiting[xid].pop(0)
        if not self.waiting[xid]:
            del self.waiting[xid]
        accepted, status = rpc.SUCCESS, 0
        if message:
            denied, = struct.unpack_from(">I", message, 8)
            if denied:
                return self.add("rejected_calls_total", reason=DENIED[struct.unpack_from(">I", message, 12)[0]])
            accepted, status = struct.unpack(">II", (message[20:] + bytes(4))[:8])
        if accepted in REFUSED:
            return self.add("rejected_calls_total", reason=REFUSED[accepted])
        labels = _labels(*which)
        self.add("calls_total", **labels)
        self.add("call_duration_seconds_count", **labels)
        self.sizes["call_size_bytes", frozenset(labels.items())][size] += 1
        for form in forms:
            self.add("procedure_forms_total", form=form, **labels)
        if again:
            self.add("duplicate_calls_total")
            return self.add("replayed_total", **labels)
        self.sizes["reply_size_bytes", frozenset(labels.items())][len(message) + in_chunks] += 1
        if accepted != rpc.SUCCESS:
            self.add("reply_errors_total", **labels)
        elif status and (which[0] == rpc.NFS or which[2] == 1):  # of MOUNT, only the result of MNT begins with a status
            self.add("failures_total", status=str(status), **labels)
        return None

    # Captures.

    def add_capture(self, path, port):
        """Counts the messages in the capture by a client of the server at `port`. The capture must be complete, and the
        calls with long replies must have succeeded."""
        dropped = pcapng.statistics(path)[1]
        if dropped != 0:
            raise AssertionError(f"{path}: {dropped} frames were dropped")
        for connection in flows.of_capture(path, port):
            self.connection("accepted")
            for side, kind, message in connection.events:
                if kind == SENDS:
                    invalidated, octets = message
                    if side == CLIENT:
                        self.sent(octets)
                    else:
                        self.received(octets, invalidated)
                elif (side, kind) == (SERVER, REQUESTS):
                    self.moved("read", 0)  # the header has shown the bytes
