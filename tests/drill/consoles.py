"""What must be true of consoles once nobody looks at one. Pure: facts in, sentences about what is wrong out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.drill.guests import HostGuests


def console_faults(rows: Mapping[str, Any], hosts: Sequence[HostGuests]) -> Iterator[str]:
    """Sessions that are open although their browser has gone, ways outward that a host holds for nobody, and sockets of
    guests that do not run.
    """
    for one in rows["consoles"]:
        yield f"{one['kind']} console {one['id']} of {one['instance_uuid']} is open, and nobody looks at it"
    for host in hosts:
        if host.consoles:
            yield f"{host.host} has {host.consoles} consoles open, and nobody looks at them"
        for name in host.sockets:
            yield f"{host.host} keeps a socket of a guest that does not run: {name}"
