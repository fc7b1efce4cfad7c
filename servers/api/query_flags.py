"""Switches in the query of an address, such as `?force=yes`."""

from rest_framework.request import Request

from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.errors import Invalid


def flag_in_query(request: Request, name: str) -> bool:
    """Whether the query says so; left out or empty is no. Raises Invalid for what is neither yes nor no."""
    raw = request.query_params.get(name) or "no"
    if not is_boolean(raw):
        raise Invalid(f"{name} is yes or no.", field=name)
    return is_true(raw)
