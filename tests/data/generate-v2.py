#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes v2.hex: messages of RPC-over-RDMA version two and its transport characteristics. The generator shares no code
with the codec: it writes each message field by field, as the XDR in the drafts does.

    tests/data/generate-v2.py > tests/data/v2.hex"""
import struct
import textwrap

CALL, REPLY = 0, 1
MSG, NOMSG, ERROR, OPTIONAL = 0, 1, 4, 5
INIT, REQUEST, RESPONSE, UPDATE = 1, 2, 3, 4
RBSIZ, RQREMINV, BRS = 1, 2, 3
SZLIM, GENL = 2, 3


def word(value):
    return struct.pack(">I", value)


def hyper(value):
    return struct.pack(">Q", value)


def opaque(data):
    return word(len(data)) + data + bytes(-len(data) % 4)


def array(items):
    return word(len(items)) + b"".join(items)


def optional_list(items):
    return b"".join(word(1) + item for item in items) + word(0)


def segment(handle, length, offset):
    return word(handle) + word(length) + hyper(offset)


def message(xid, credit, procedure, body):
    return word(xid) + word(2) + word(credit) + word(procedure) + body


def chunk_lists(direction, reads=(), writes=(), reply=None):
    return (word(direction) + optional_list(reads) + optional_list(array(chunk) for chunk in writes)
            + (word(0) if reply is None else word(1) + array(reply)))


def option(direction, kind, content):
    return word(direction) + word(kind) + opaque(content)


def value(which, data):
    return word(which) + opaque(data)


def subset(*positions):
    words = [0] * (max(positions) // 32 + 1) if positions else []
    for position in positions:
        words[position // 32] |= 1 << position % 32
    return array([word(w) for w in words])


AUTH_NONE = word(0) + opaque(b"")
# The fields after the XID: CALL, RPC version, program, version, procedure, credential, verifier.
NULL_CALL = word(0) + word(2) + word(100003) + word(3) + word(0) + AUTH_NONE + AUTH_NONE
VECTORS = {
    "msg_call: RDMA2_MSG, a call of NULL": message(
        0x10, 32, MSG, chunk_lists(CALL) + word(0x10) + NULL_CALL),
    "msg_reply: RDMA2_MSG, its reply": message(
        0x10, 16, MSG, chunk_lists(REPLY) + word(0x10) + word(1) + word(0) + AUTH_NONE + word(0)),
    "msg_chunks: RDMA2_MSG with a Read chunk, two Write chunks (one empty) and a Reply chunk": message(
        0x11, 32, MSG, chunk_lists(
            CALL, [word(128) + segment(0x1234, 5, 0x7F0000001000)],
            [[segment(0x2222, 2048, 0x100000), segment(0x2223, 2048, 0x200000)], []],
            [segment(0x4444, 8192, 0x9000)]) + word(0x11) + NULL_CALL),
    "nomsg_call: RDMA2_NOMSG, a long call": message(
        0x12, 32, NOMSG, chunk_lists(CALL, [word(0) + segment(0x3333, 1400, 0x1000)])),
    "nomsg_reply: RDMA2_NOMSG, a long reply": message(
        0x12, 16, NOMSG, chunk_lists(REPLY, reply=[segment(0x4444, 3000, 0x9000)])),
    "err_vers: RDMA2_ERROR, the version is refused": message(0x13, 16, ERROR, word(1) + word(1) + word(1)),
    "err_bad_header: RDMA2_ERROR": message(0x14, 16, ERROR, word(2)),
    "err_inval_option: RDMA2_ERROR": message(0x15, 16, ERROR, word(3)),
    "init: INIT_XCHAR, buffers of 4096 bytes, reverse calls without chunks, neither changes": message(
        0xA0000010, 32, OPTIONAL, option(
            CALL, INIT, array([value(RBSIZ, word(4096)), value(BRS, word(SZLIM))]) + subset(0, 1))),
    "init_all: INIT_XCHAR, all characteristics and two experimental ones": message(
        0x16, 1, OPTIONAL, option(REPLY, INIT, array([
            value(0xFFFFFF00, b"abcde"), value(RBSIZ, word(65536)), value(RQREMINV, word(1)), value(BRS, word(GENL)),
            value(0xFFFFFFFF, b"")]) + subset())),
    "request: REQ_XCHAR, larger buffers": message(
        0x17, 32, OPTIONAL, option(CALL, REQUEST, array([value(RBSIZ, word(16384)), value(RQREMINV, word(0))]))),
    "response: RESP_XCHAR, the second rejected, the first pending": message(
        0x17, 16, OPTIONAL, option(REPLY, RESPONSE, subset() + subset(1) + subset(0))),
    "response_wide: RESP_XCHAR, positions in a list of 40": message(
        0x18, 16, OPTIONAL, option(REPLY, RESPONSE, subset(0, 31, 32, 39) + subset(1) + subset())),
    "update: UPD_XCHAR, buffers of 16384 bytes, nothing is pending": message(
        0x19, 16, OPTIONAL, option(REPLY, UPDATE, value(RBSIZ, word(16384)) + word(1))),
    "update_experiment: UPD_XCHAR, receives of 4096 bytes would do": message(
        0x1B, 16, OPTIONAL, option(CALL, UPDATE, value(0xFFFFFF01, b"rpcrdma1" + word(4096)) + word(0))),
    "unknown_option: RDMA2_OPTIONAL of an unknown type, 3 bytes": message(
        0x1A, 1, OPTIONAL, option(CALL, 77, b"xyz")),
}


def main():
    print("# RPC-over-RDMA version two (draft-cel-nfsv4-rpcrdma-version-two-01) and transport characteristics")
    print("# (draft-dnoveck-nfsv4-rpcrdma-xcharext-01), written by generate-v2.py.")
    for title, data in VECTORS.items():
        name, text = title.split(": ", 1)
        words = textwrap.fill(" ".join(data[i:i + 4].hex() for i in range(0, len(data), 4)), 71)
        print(f"\n# {text}\n{name}:\n{words}")


if __name__ == "__main__":
    main()
