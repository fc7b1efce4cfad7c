"""Values of query parameters, as Keystone's clients write them."""

from controlplane.identity.openstack.call import IdentityCall

_NO = frozenset({"0", "false", "no", "off", "n", "f"})


def flag_asked(call: IdentityCall, name: str) -> bool | None:
    """None where it is not asked for; without a value it means yes."""
    value = call.query.get(name)
    return None if value is None else value.lower() not in _NO
