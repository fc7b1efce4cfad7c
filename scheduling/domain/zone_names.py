"""What an availability zone may be called: one rule for who makes it and for who asks for it."""

from controlplane.kernel.printable import is_printable
from controlplane.kernel.texts import phrase as _

ZONE_NAME_MAX = 255


def zone_name_problem(name: str) -> str:
    """What is wrong with it; empty when nothing is. A colon begins a host in Nova's `zone:host:node`."""
    fits = 0 < len(name) <= ZONE_NAME_MAX and name == name.strip() and ":" not in name and is_printable(name)
    return (
        ""
        if fits
        else _(
            "A zone's name has 1 to {zone_name_max} printable characters, no colon, and no space at either end.",
            zone_name_max=ZONE_NAME_MAX,
        )
    )
