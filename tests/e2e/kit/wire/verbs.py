# SPDX-License-Identifier: BSD-3-Clause
"""A hand-driven peer over verbs, like that of kit/wire/iwarp.py; it can break the rules that a device does not enforce."""
import ctypes
import mmap
import select
import socket
import struct

from kit.waiting import DEADLINE_S
from kit.wire import rdma
from kit.wire.iwarp import SEND, SEND_INVALIDATE, ConnectionEnded, rfc8797
from kit.wire.rdma import cm, good, verbs

RECEIVES, ROOM = 64, 4096  # the number of posted receives, and the bytes of each
PAGE = mmap.PAGESIZE
_BAD = ctypes.c_void_p()  # set to the address of a refused work request


class Rejected(ConnectionError):
    """The server rejected the connection."""


class Message:
    """One Send as received; `stag` is the handle that it invalidated, or 0."""

    def __init__(self, payload, stag):
        self.payload, self.stag = payload, stag
        self.opcode = SEND_INVALIDATE if stag else SEND


class Memory:
    """Registered bytes. The remote address of the first one is `offset`, by default its local address."""

    def __init__(self, pd, size, access, offset=None):
        self.map = mmap.mmap(-1, size + 2 * PAGE)
        start = (offset or 0) % PAGE
        self.view = memoryview(self.map)[start:start + size]
        self._anchor = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(self._anchor) + start
        self.offset = self.address if offset is None else offset
        self.region = good(verbs.ibv_reg_mr_iova(pd, self.address, size, self.offset, access))

    @property
    def keys(self):
        return self.region.contents

    def close(self):
        verbs.ibv_dereg_mr(self.region)


class Peer:
    """A connection to HOST:PORT, made by handshake(). Use as a context manager, or call close()."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.memory, self.windows, self.live, self.arrived = [], [], {}, []
        self.ended, self.sending = False, 0
        self.channel = good(cm.rdma_create_event_channel())
        self.id = ctypes.POINTER(rdma.Identifier)()
        good(cm.rdma_create_id(self.channel, ctypes.byref(self.id), None, rdma.PS_TCP))
        there = struct.pack("=H", socket.AF_INET) + struct.pack(">H", int(port)) + socket.inet_aton(host) + bytes(8)
        # Try repeatedly with a short timeout: the first attempt may fail while the neighbour is unknown.
        resolved = None
        while resolved != rdma.ADDR_RESOLVED:
            good(cm.rdma_resolve_addr(self.id, None, there, 200))
            resolved = self._event(rdma.ADDR_RESOLVED, rdma.ADDR_ERROR)[0]
        good(cm.rdma_resolve_route(self.id, 1000 * DEADLINE_S))
        self._event(rdma.ROUTE_RESOLVED)
        attributes = rdma.QueuePairAttributes(max_send_wr=16, max_recv_wr=RECEIVES, max_send_sge=1, max_recv_sge=1,
                                              qp_type=rdma.RC)
        good(cm.rdma_create_qp(self.id, None, attributes))
        here = self.id.contents
        self.qp, self.pd, self.do = here.qp, here.pd, rdma.Operations(here.verbs)
        self.inbox = self._register(RECEIVES * ROOM, rdma.LOCAL_WRITE)
        self.outbox = self._register(ROOM, rdma.LOCAL_WRITE)
        for slot in range(RECEIVES):
            self._post_receive(slot)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Frees the memory windows before the queue pair; otherwise rxe hangs."""
        if not self.id:
            return
        for window in self.windows:
            self.do.dealloc_mw(window)
        cm.rdma_destroy_qp(self.id)
        for memory in self.memory:
            memory.close()
        cm.rdma_destroy_id(self.id)
        cm.rdma_destroy_event_channel(self.channel)
        self.id = None

    # Connection management.

    def _event(self, *kinds):
        """Waits for the next event, whose kind must be one of `kinds`; returns its kind, status and private data."""
        if not select.select([self.channel.contents.fd], [], [], DEADLINE_S)[0]:
            raise TimeoutError("no event")
        event = ctypes.POINTER(rdma.Event)()
        good(cm.rdma_get_cm_event(self.channel, ctypes.byref(event)))
        kind, status, param = event.contents.event, event.contents.status, event.contents.param
        private = ctypes.string_at(param.private_data, param.private_data_len) if param.private_data_len else b""
        cm.rdma_ack_cm_event(event)
        if kind == rdma.REJECTED and kind not in kinds:
            raise Rejected(f"status {status}")
        if kind not in kinds:
            raise ConnectionEnded(f"event {kind}, status {status}")
        return kind, status, private

    def connect(self, private=None, inbound=16, outbound=16):
        """Sends a connection request; does not wait for the answer."""
        private = rfc8797() if private is None else private
        octets = ctypes.create_string_buffer(private, max(len(private), 1))
        good(cm.rdma_connect(self.id, rdma.Parameters(
            private_data=ctypes.addressof(octets), private_data_len=len(private), responder_resources=inbound,
            initiator_depth=outbound, retry_count=7, rnr_retry_count=7)))

    def handshake(self, private=None, **depths):
        """Connects; returns the server's private data."""
        self.connect(private, **depths)
        return self._event(rdma.ESTABLISHED)[2]

    # Memory.

    def _register(self, size, access, offset=None):
        self.memory.append(Memory(self.pd, size, access, offset))
        return self.memory[-1]

    def expose(self, size, readable, offset):
        """Exposes memory to the server: for reading if `readable`, else for writing. Returns the handle and the
        memory."""
        right = rdma.REMOTE_READ if readable else rdma.REMOTE_WRITE
        memory = self._register(size, rdma.LOCAL_WRITE | rdma.MW_BIND | right, offset)
        window = good(self.do.alloc_mw(self.pd, rdma.TYPE_2))
        self.windows.append(window)
        key = window.contents.rkey
        key = key & 0xFFFFFF00 | (key + 1) & 0xFF
        self._post(rdma.SendRequest(
            opcode=rdma.WR_BIND_MW, mw=ctypes.addressof(window.contents), mw_rkey=key,
            bind_mr=ctypes.addressof(memory.keys), bind_addr=memory.offset, bind_length=size, bind_access=right))
        window.contents.rkey = key
        self.live[key] = memory
        return key, memory

    # Data.

    def _check(self, error):
        if error:
            self.ended = True
            raise ConnectionEnded(f"errno {error}")

    def _post_receive(self, slot):
        entry = rdma.Sge(self.inbox.address + slot * ROOM, ROOM, self.inbox.keys.lkey)
        request = rdma.ReceiveRequest(wr_id=slot, sg_list=ctypes.pointer(entry), num_sge=1)
        self._check(self.do.post_recv(self.qp, request, ctypes.byref(_BAD)))

    def _post(self, request):
        """Posts one request and waits for its completion."""
        request.send_flags = rdma.SIGNALED
        self._check(self.do.post_send(self.qp, request, ctypes.byref(_BAD)))
        here = self.id.contents
        self._completion(here.send_cq, here.send_channel)

    def _local(self, octets):
        memory = self.outbox if len(octets) <= ROOM else self._register(len(octets), rdma.LOCAL_WRITE)
        memory.view[:len(octets)] = octets
        return ctypes.pointer(rdma.Sge(memory.address, len(octets), memory.keys.lkey))

    def send(self, payload, invalidate=None):
        """Makes one Send; returns when it is complete."""
        self._post(rdma.SendRequest(sg_list=self._local(payload), num_sge=1 if payload else 0,
                                    opcode=rdma.WR_SEND if invalidate is None else rdma.WR_SEND_WITH_INV,
                                    invalidate_rkey=invalidate or 0))

    def send_with_immediate(self, payload):
        self._post(rdma.SendRequest(sg_list=self._local(payload), num_sge=1, opcode=rdma.WR_SEND_WITH_IMM))

    def write(self, octets, handle, offset, opcode=rdma.WR_WRITE):
        self._post(rdma.SendRequest(sg_list=self._local(octets), num_sge=1 if octets else 0, opcode=opcode,
                                    remote_addr=offset, remote_rkey=handle))

    def write_with_immediate(self, octets, handle, offset):
        self.write(octets, handle, offset, rdma.WR_WRITE_WITH_IMM)

    def read(self, size, handle, offset):
        self._post(rdma.SendRequest(sg_list=self._local(bytes(size)), num_sge=1, opcode=rdma.WR_READ, remote_addr=offset,
                                    remote_rkey=handle))

    def _completion(self, queue, channel):
        """Waits for the next completion. A failed completion means that the connection has ended."""
        found = rdma.Completion()
        while self.do.poll_cq(queue, 1, found) == 0:
            self.do.req_notify_cq(queue, 0)
            if self.do.poll_cq(queue, 1, found):
                break
            self._wait(channel)
        if found.status != 0:
            self.ended = True
            raise ConnectionEnded(f"completion status {found.status}")
        return found

    def _wait(self, channel):
        descriptors = [channel.contents.fd, self.channel.contents.fd]
        ready = select.select(descriptors[:1] if self.ended else descriptors, [], [], DEADLINE_S)[0]
        if not ready:
            raise TimeoutError("nothing comes")
        if channel.contents.fd in ready:
            queue, context = ctypes.c_void_p(), ctypes.c_void_p()
            good(verbs.ibv_get_cq_event(channel, ctypes.byref(queue), ctypes.byref(context)))
            verbs.ibv_ack_cq_events(queue, 1)
        elif self.channel.contents.fd in ready:
            self._event(rdma.DISCONNECTED)
            self.ended = True
            cm.rdma_disconnect(self.id)  # posted work completes when the connection has ended

    def receive(self):
        """Returns the next message, or None when the connection has ended."""
        here = self.id.contents
        try:
            found = self._completion(here.recv_cq, here.recv_channel)
        except ConnectionEnded:
            return None
        start = found.wr_id * ROOM
        payload = bytes(self.inbox.view[start:start + found.byte_len])
        self._post_receive(found.wr_id)
        # On an invalidation rxe reports the handle without setting the flag.
        stag = found.invalidated_rkey if found.invalidated_rkey in self.live else 0
        self.live.pop(stag, None)
        return Message(payload, stag)

    def receive_opcode(self, *opcodes):
        """Returns the next message, whose opcode must be one of `opcodes`."""
        message = self.receive()
        if message is None:
            raise ConnectionEnded("the connection ended")
        if message.opcode not in opcodes:
            raise AssertionError(f"unexpected opcode {message.opcode}: {message.payload.hex()}")
        return message

    def end(self):
        """Expects the end of the connection without another message."""
        message = self.receive()
        if message is not None:
            raise AssertionError(f"expected the end of the connection, got {message.payload.hex()}")
