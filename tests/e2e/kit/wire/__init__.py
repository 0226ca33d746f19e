# SPDX-License-Identifier: BSD-3-Clause
"""Peers that speak the protocols by hand, and readers of what was on the wire."""
