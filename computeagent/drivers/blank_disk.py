"""A disk image of a guest that has no disk: an empty qcow2, which those who take images, and QEMU, take for one."""

import struct

from computeagent.protocol.guests import GuestSpec
from controlplane.kernel.units import GIB

# The fixed fields of version 2: https://www.qemu.org/docs/master/interop/qcow2.html
_HEADER = struct.Struct(">4sIQIIQIIQQIIQ")
_NAME_AT = 512
_CLUSTER_BITS = 16
_CLUSTER = 1 << _CLUSTER_BITS
_TABLE, _COUNTS, _MAPS = _CLUSTER, 2 * _CLUSTER, 3 * _CLUSTER
"""After the header: the table of reference counts, the counts of these clusters, and the map, which maps nothing."""
_BYTES_OF_MAP = _CLUSTER // 8 * _CLUSTER
"""What one entry of the map stands for."""


def blank_disk(guest: GuestSpec) -> bytes:
    """As large, to a guest, as its root disk; another one for each guest."""
    size = max(1, guest.root_gib) * GIB
    maps = -(-size // _BYTES_OF_MAP)
    clusters = 3 + -(-maps * 8 // _CLUSTER)
    disk = bytearray(_MAPS + maps * 8)
    disk[: _HEADER.size] = _HEADER.pack(b"QFI\xfb", 2, 0, 0, _CLUSTER_BITS, size, 0, maps, _MAPS, _TABLE, 1, 0, 0)
    name = f"{guest.uuid}\n".encode()
    disk[_NAME_AT : _NAME_AT + len(name)] = name
    struct.pack_into(">Q", disk, _TABLE, _COUNTS)
    struct.pack_into(f">{clusters}H", disk, _COUNTS, *[1] * clusters)
    return bytes(disk)
