# SPDX-License-Identifier: BSD-3-Clause
"""What clients know of their calls, from their messages or from their captures."""
import collections
import struct

from kit import flows, pcapng, rpc

NFS_NAMES = ("NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR "
             "READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT").split()
MOUNT_NAMES = "NULL MNT DUMP UMNT UMNTALL EXPORT".split()


def _rpc_message(message):
    """What follows the transport header, which must be that of an inline message."""
    at = 16
    if struct.unpack_from(">I", message, 12)[0] != rpc.MSG:
        raise AssertionError(f"not an inline message: {message.hex()}")

    def word():
        nonlocal at
        at += 4
        return struct.unpack_from(">I", message, at - 4)[0]

    while word() == 1:  # the Read list
        at += 20
    def segments():
        nonlocal at
        count = word()
        at += 16 * count

    while word() == 1:  # the Write list
        segments()
    if word() == 1:  # the Reply chunk
        segments()
    return message[at:]


class Counts:
    """What a client knows of its calls; sums with +. Calls and replies are inline, but for the data in chunks."""

    def __init__(self):
        self.calls, self.call_bytes, self.reply_bytes = (collections.Counter() for _ in range(3))  # by (program, procedure)
        self.moved = collections.Counter()  # bytes by the operation of the server
        self.waiting = {}  # (program, procedure) by XID

    def __iadd__(self, other):
        for name in ("calls", "call_bytes", "reply_bytes", "moved"):
            getattr(self, name).update(getattr(other, name))
        return self

    def sent(self, message):
        call = _rpc_message(message)
        xid, _, _, program, _, procedure = struct.unpack_from(">6I", call)
        names = {rpc.NFS: ("nfs", NFS_NAMES), rpc.MOUNT: ("mount", MOUNT_NAMES)}[program]
        key = self.waiting[xid] = (names[0], names[1][procedure])
        self.calls[key] += 1
        self.call_bytes[key] += len(call)
        self.moved["receive"] += len(message)

    def received(self, message):
        self.reply_bytes[self.waiting.pop(struct.unpack_from(">I", message)[0])] += len(_rpc_message(message))
        self.moved["send"] += len(message)

    def data(self, key, operation, size):
        """`size` bytes of calls or replies of `key` have travelled in chunks."""
        (self.call_bytes if operation == "read" else self.reply_bytes)[key] += size
        self.moved[operation] += size

    def add_capture(self, path, port):
        """The messages in a capture of a client of the server at `port`, which must be complete."""
        dropped = pcapng.statistics(path)[1]
        if dropped != 0:
            raise AssertionError(f"{path}: {dropped} frames were dropped")
        for connection in flows.of_capture(path, port):
            of_client, of_server = connection.flows
            for _, message in of_client.sends:
                self.sent(message)
            for _, message in of_server.sends:
                self.received(message)
