"""What a host may not be called here: names below whose addresses something else is found."""

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

RESERVED = frozenset({"add", "enrolments", "map", "versions"})
"""`/hosts/add/` and `/api/hosts/enrolments/` are no hosts: the page and the resource of one so called could not be
reached.
"""


def require_free_host_name(host: str) -> None:
    """Raises Invalid for a name that is taken by an address."""
    if host in RESERVED:
        raise Invalid(
            _("A host cannot be called {host}: /hosts/{host}/ is another page. Choose another name.", host=host),
            field="host",
        )
