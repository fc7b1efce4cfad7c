"""What a host may be called, and how a guest calls itself."""

import re
import unicodedata

from controlplane.kernel.errors import Invalid

# The queue's name is `compute.<host>`, in a column of 100 characters.
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,91}")
HOSTNAME_MAX_CHARS = 63
"""Of one label: RFC 1035, 2.3.4."""


def require_host_name(host: str) -> None:
    """Raises Invalid for a text that is no name for a host."""
    if _HOST.fullmatch(host) is None:
        raise Invalid(
            f"{host[:100]!r} is no name for a host: letters, digits, '.', '_' and '-', at most 92.", field="host"
        )


def hostname_from_name(name: str, instance_uuid: str) -> str:
    """A host name made from the instance's name (Nova's `sanitize_hostname`); `server-<uuid>` where nothing is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    label = re.sub(r"[^a-z0-9-]", "", re.sub(r"[ _.]", "-", plain.lower()))
    return label.strip("-")[:HOSTNAME_MAX_CHARS].rstrip("-") or f"server-{instance_uuid}"
