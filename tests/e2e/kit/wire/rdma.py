# SPDX-License-Identifier: BSD-3-Clause
"""The parts of libibverbs and librdmacm that a hand-driven peer needs, by their C interfaces. Functions that are
inline in the headers are called through the function pointers in the device's context, as the headers do."""
import ctypes
import os
from ctypes import c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

PS_TCP, RC = 0x0106, 2
ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, REJECTED, ESTABLISHED, DISCONNECTED = 0, 1, 2, 8, 9, 10
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, MW_BIND = 1, 2, 4, 16
WR_WRITE, WR_WRITE_WITH_IMM, WR_SEND, WR_SEND_WITH_IMM, WR_READ, WR_BIND_MW, WR_SEND_WITH_INV = 0, 1, 2, 3, 4, 8, 9
SIGNALED, TYPE_2 = 2, 2


class Sge(ctypes.Structure):
    _fields_ = [("addr", c_uint64), ("length", c_uint32), ("lkey", c_uint32)]


class ReceiveRequest(ctypes.Structure):
    _fields_ = [("wr_id", c_uint64), ("next", c_void_p), ("sg_list", ctypes.POINTER(Sge)), ("num_sge", c_int)]


class SendRequest(ctypes.Structure):
    _fields_ = [("wr_id", c_uint64), ("next", c_void_p), ("sg_list", ctypes.POINTER(Sge)), ("num_sge", c_int),
                ("opcode", c_int), ("send_flags", c_uint32), ("invalidate_rkey", c_uint32),
                ("remote_addr", c_uint64), ("remote_rkey", c_uint32), ("wr_rest", c_uint32 * 5), ("xrc", c_uint64),
                ("mw", c_void_p), ("mw_rkey", c_uint32), ("bind_mr", c_void_p), ("bind_addr", c_uint64),
                ("bind_length", c_uint64), ("bind_access", c_uint32)]


class Completion(ctypes.Structure):
    _fields_ = [("wr_id", c_uint64), ("status", c_int), ("opcode", c_int), ("vendor_err", c_uint32),
                ("byte_len", c_uint32), ("invalidated_rkey", c_uint32), ("qp_num", c_uint32), ("src_qp", c_uint32),
                ("wc_flags", c_uint32), ("rest", c_uint32 * 2)]


class QueuePairAttributes(ctypes.Structure):
    _fields_ = [("qp_context", c_void_p), ("send_cq", c_void_p), ("recv_cq", c_void_p), ("srq", c_void_p),
                ("max_send_wr", c_uint32), ("max_recv_wr", c_uint32), ("max_send_sge", c_uint32),
                ("max_recv_sge", c_uint32), ("max_inline_data", c_uint32), ("qp_type", c_int), ("sq_sig_all", c_int)]


class Parameters(ctypes.Structure):
    _fields_ = [("private_data", c_void_p), ("private_data_len", c_uint8), ("responder_resources", c_uint8),
                ("initiator_depth", c_uint8), ("flow_control", c_uint8), ("retry_count", c_uint8),
                ("rnr_retry_count", c_uint8), ("srq", c_uint8), ("qp_num", c_uint32)]


class Event(ctypes.Structure):
    _fields_ = [("id", c_void_p), ("listen_id", c_void_p), ("event", c_int), ("status", c_int), ("param", Parameters)]


class Channel(ctypes.Structure):
    _fields_ = [("fd", c_int)]


class CompletionChannel(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("fd", c_int)]


class Identifier(ctypes.Structure):
    _fields_ = [("verbs", c_void_p), ("channel", ctypes.POINTER(Channel)), ("context", c_void_p), ("qp", c_void_p),
                ("route", c_uint64 * 39), ("ps", c_int), ("port_num", c_uint8), ("event", c_void_p),
                ("send_channel", ctypes.POINTER(CompletionChannel)), ("send_cq", c_void_p),
                ("recv_channel", ctypes.POINTER(CompletionChannel)), ("recv_cq", c_void_p), ("srq", c_void_p),
                ("pd", c_void_p)]


class Region(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("pd", c_void_p), ("addr", c_void_p), ("length", c_size_t), ("handle", c_uint32),
                ("lkey", c_uint32), ("rkey", c_uint32)]


class Window(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("pd", c_void_p), ("rkey", c_uint32), ("handle", c_uint32), ("type", c_int)]


_identifier = ctypes.POINTER(Identifier)
_event = ctypes.POINTER(Event)


def _library(name, **functions):
    library = ctypes.CDLL(name, use_errno=True)
    for function, (result, *arguments) in functions.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


cm = _library(
    "librdmacm.so.1", rdma_create_event_channel=(ctypes.POINTER(Channel),),
    rdma_destroy_event_channel=(None, ctypes.POINTER(Channel)),
    rdma_create_id=(c_int, ctypes.POINTER(Channel), ctypes.POINTER(_identifier), c_void_p, c_int),
    rdma_destroy_id=(c_int, _identifier), rdma_resolve_addr=(c_int, _identifier, c_void_p, ctypes.c_char_p, c_int),
    rdma_resolve_route=(c_int, _identifier, c_int),
    rdma_create_qp=(c_int, _identifier, c_void_p, ctypes.POINTER(QueuePairAttributes)),
    rdma_destroy_qp=(None, _identifier), rdma_connect=(c_int, _identifier, ctypes.POINTER(Parameters)),
    rdma_disconnect=(c_int, _identifier), rdma_get_cm_event=(c_int, ctypes.POINTER(Channel), ctypes.POINTER(_event)),
    rdma_ack_cm_event=(c_int, _event))

verbs = _library(
    "libibverbs.so.1", ibv_reg_mr_iova=(ctypes.POINTER(Region), c_void_p, c_void_p, c_size_t, c_uint64, c_int),
    ibv_dereg_mr=(c_int, ctypes.POINTER(Region)),
    ibv_get_cq_event=(c_int, ctypes.POINTER(CompletionChannel), ctypes.POINTER(c_void_p), ctypes.POINTER(c_void_p)),
    ibv_ack_cq_events=(None, c_void_p, c_uint32))


def good(result):
    """Returns `result`, or raises OSError from errno if it is -1 or a null pointer."""
    if result == -1 or (isinstance(result, ctypes._Pointer) and not result):  # pylint: disable=protected-access
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Operations:
    """The functions that the headers define inline. The numbers are the indices in struct ibv_context_ops. All
    but alloc_mw and poll_cq return an errno."""

    def __init__(self, context):
        place = (c_void_p * 33).from_address(context)

        def pointer(index, result, *arguments):
            return ctypes.CFUNCTYPE(result, *arguments)(place[1 + index])

        self.alloc_mw = pointer(7, ctypes.POINTER(Window), c_void_p, c_int)
        self.dealloc_mw = pointer(9, c_int, ctypes.POINTER(Window))
        self.poll_cq = pointer(11, c_int, c_void_p, c_int, ctypes.POINTER(Completion))
        self.req_notify_cq = pointer(12, c_int, c_void_p, c_int)
        self.post_send = pointer(25, c_int, c_void_p, ctypes.POINTER(SendRequest), ctypes.POINTER(c_void_p))
        self.post_recv = pointer(26, c_int, c_void_p, ctypes.POINTER(ReceiveRequest), ctypes.POINTER(c_void_p))
