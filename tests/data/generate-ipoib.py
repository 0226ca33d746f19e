#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes ipoib.hex: objects of RFC 4391 and RFC 4755 in their encoding. The generator shares no code with the codec: it
writes each object field by field, as the diagrams of the RFCs show it.

    tests/data/generate-ipoib.py > tests/data/ipoib.hex"""
import ipaddress
import textwrap

IPV4, ARP, RARP, IPV6 = "0800", "0806", "8035", "86dd"
RC, UC = 0b1000_0000, 0b0100_0000


def gid(address):
    address = ipaddress.ip_address(address)
    return ("00" * 10 + "ffff" if address.version == 4 else "") + address.packed.hex()


def link_address(flags, qpn, address):
    """A link-layer address: flags, QPN, GID."""
    return f"{flags:02x}{qpn:06x}{gid(address)}"


def private_data(qpn, receive_mtu, reserved=0):
    return f"{reserved:02x}{qpn:06x}{receive_mtu:08x}"


def service_id(qpn, first=0x01):
    """A Service-ID: first byte, type, reserved, QPN."""
    return f"{first:02x}" + "00" + "000000" + f"{qpn:06x}"


VECTORS = {
    "header_ipv4": ("encapsulation header: type, reserved", IPV4 + "0000"),
    "header_ipv6": ("", IPV6 + "0000"),
    "header_arp": ("", ARP + "0000"),
    "header_rarp": ("", RARP + "0000"),
    "header_reserved_set": ("the reserved field is ignored", IPV4 + "ffff"),
    "address_rc": ("link-layer address: flags, QPN, GID", link_address(RC, 0x4E51, "192.0.2.7")),
    "address_both": ("", link_address(RC | UC, 0xFFFFFF, "2001:db8::1")),
    "address_ud": ("", link_address(0, 1, "fe80::2:c903:0:1")),
    "address_reserved_set": ("all other flags are ignored", link_address(0xBF, 0x4E51, "192.0.2.7")),
    "private_data": ("private data: reserved, UD QPN, Receive MTU", private_data(0xAB, 65524)),
    "private_data_reserved_set": ("the reserved byte is ignored", private_data(0xAB, 65524, 0xFF)),
    "private_data_default": ("", private_data(0x123456, 2048)),
    "private_data_extended": ("with 64 credits", private_data(0xAB, 65524) + "ce" + "00" + "0040"),
    "private_data_refusal": ("a rejection: the requester is unknown", private_data(0xAB, 65524) + "ce" + "02" + "0020"),
    "service_id": ("Service-ID of RFC 4755", service_id(0xAB)),
    "service_id_linux": ("Service-ID of ib_ipoib", service_id(0xAB, 0x10)),
    "credit": ("flow control: a limit of 0x01020304 packets", "88b5" + "0000" + "01020304"),
}


def main():
    print("# IP over InfiniBand (RFC 4391, RFC 4755), written by generate-ipoib.py.")
    for name, (comment, digits) in VECTORS.items():
        print()
        if comment:
            print(f"# {comment}")
        print(f"{name}:")
        print("\n".join(textwrap.wrap(" ".join(textwrap.wrap(digits, 8)), 72)))


if __name__ == "__main__":
    main()
