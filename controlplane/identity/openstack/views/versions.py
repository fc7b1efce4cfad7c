"""The version documents. They need no token."""

from controlplane.identity.openstack.call import IdentityCall
from controlplane.identity.openstack.shapes import IdentityVersionJson, IdentityVersionShown, IdentityVersionsShown
from controlplane.openstack.answers import JsonAnswer

VERSION = "v3.14"


def _version(call: IdentityCall) -> IdentityVersionJson:
    return {
        "id": VERSION,
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": call.absolute_url("v3", "")}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}],
    }


def version_list(call: IdentityCall) -> JsonAnswer[IdentityVersionsShown]:
    """All versions: one."""
    return call.answer({"versions": {"values": [_version(call)]}}, status=300)


def version_show(call: IdentityCall) -> JsonAnswer[IdentityVersionShown]:
    """This one."""
    return call.answer({"version": _version(call)})
