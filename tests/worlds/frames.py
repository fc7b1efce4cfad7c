"""Ethernet frames as bytes, sent and seen inside a namespace, to try what a hostile guest would."""

import ipaddress
import struct
import sys
from collections.abc import Callable

from tests.worlds.bridge_place import Guest

_SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('eth0', 0))
for line in sys.stdin: s.send(bytes.fromhex(line))
"""
_SEE = """
import select, socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.bind(('eth0', 0))
print('ready', flush=True)
mark, end = bytes.fromhex(sys.argv[1]), None
while True:
    left = None if end is None else end - time.monotonic()
    waited = [s] if end else [s, sys.stdin]
    ready = select.select(waited, [], [], left if left is None else max(left, 0))[0]
    if s in ready:
        if mark in s.recv(65535): print('seen', flush=True); break
    elif sys.stdin in ready: end = time.monotonic() + float(sys.argv[2])
    elif left is not None and left <= 0: break
"""


def send(guest: Guest, *frames: bytes) -> None:
    """From the guest's card, as they are."""
    guest.run(sys.executable, "-c", _SEND, given="".join(f"{frame.hex()}\n" for frame in frames))


def sees(guest: Guest, mark: bytes, doing: Callable[[], object], seconds: float = 0.7) -> bool:
    """Whether a frame that has `mark` in it came to the guest while something was done, or `seconds` after that."""
    process = guest.start(sys.executable, "-c", _SEE, mark.hex(), str(seconds))
    assert process.stdin is not None
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    doing()
    process.stdin.close()
    said = process.stdout.read()
    process.wait()
    return said == "seen\n"


def ethernet(source: str, destination: str, kind: int, payload: bytes) -> bytes:
    """A frame."""
    return _mac(destination) + _mac(source) + struct.pack("!H", kind) + payload


def arp(source: str, sender_mac: str, sender: str, target: str, *, operation: int = 1) -> bytes:
    """A broadcast of ARP: `source` is the frame's, `sender_mac` that in the message."""
    addresses = _mac(sender_mac) + _packed(sender) + bytes(6) + _packed(target)
    return ethernet(source, "ff:ff:ff:ff:ff:ff", 0x0806, struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation) + addresses)


def udp4(macs: tuple[str, str], addresses: tuple[str, str], ports: tuple[int, int], data: bytes) -> bytes:
    """A datagram of UDP over IPv4; macs and the others are source and destination."""
    segment = struct.pack("!HHHH", *ports, 8 + len(data), 0) + data
    source, destination = map(_packed, addresses)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 17, 0) + source + destination
    header = header[:10] + struct.pack("!H", _checksum(header)) + header[12:]
    return ethernet(*macs, 0x0800, header + segment)


def udp6(macs: tuple[str, str], addresses: tuple[str, str], ports: tuple[int, int], data: bytes) -> bytes:
    """A datagram of UDP over IPv6."""
    segment = struct.pack("!HHHH", *ports, 8 + len(data), 0) + data
    return ip6(macs, addresses, 17, segment, 6)


def icmp6(macs: tuple[str, str], addresses: tuple[str, str], kind: int, body: bytes) -> bytes:
    """A message of ICMPv6: `body` is what comes after the checksum."""
    return ip6(macs, addresses, 58, struct.pack("!BBH", kind, 0, 0) + body, 2)


def ip6(macs: tuple[str, str], addresses: tuple[str, str], protocol: int, message: bytes, sum_at: int) -> bytes:
    """A packet of IPv6 whose message has its checksum at this offset."""
    source, destination = map(_packed, addresses)
    pseudo = source + destination + struct.pack("!II", len(message), protocol)
    message = message[:sum_at] + struct.pack("!H", _checksum(pseudo + message)) + message[sum_at + 2 :]
    header = struct.pack("!IHBB", 6 << 28, len(message), protocol, 255) + source + destination
    return ethernet(*macs, 0x86DD, header + message)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


def _checksum(data: bytes) -> int:
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
