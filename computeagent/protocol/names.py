"""What a host may be called."""

import re

from controlplane.kernel.errors import Invalid

# The queue's name is `compute.<host>`, in a column of 100 characters.
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,91}")


def require_host_name(host: str) -> None:
    """Raises Invalid for a text that is no name for a host."""
    if _HOST.fullmatch(host) is None:
        raise Invalid(
            f"{host[:100]!r} is no name for a host: letters, digits, '.', '_' and '-', at most 92.", field="host"
        )
