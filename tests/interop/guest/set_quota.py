#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""set_quota.py DEVICE UID BYTES FILES: sets the hard limits of a user on a mounted file system."""
import ctypes
import os
import sys

SET_QUOTA, USERS = 0x800008, 0
LIMITS = 1 | 4  # of blocks, of inodes


class Limits(ctypes.Structure):  # struct if_dqblk
    NUMBERS = ("block_hard", "block_soft", "space", "inode_hard", "inode_soft", "inodes", "block_time", "inode_time")
    _fields_ = [*((name, ctypes.c_uint64) for name in NUMBERS), ("valid", ctypes.c_uint32)]


device, user, octets, files = sys.argv[1], *map(int, sys.argv[2:5])
wanted = Limits(block_hard=octets >> 10, inode_hard=files, valid=LIMITS)
libc = ctypes.CDLL(None, use_errno=True)
if libc.quotactl(SET_QUOTA << 8 | USERS, os.fsencode(device), user, ctypes.byref(wanted)) != 0:
    sys.exit(f"quotactl: {os.strerror(ctypes.get_errno())}")
