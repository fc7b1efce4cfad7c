"""The version documents. They need no token."""

from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.shapes import LinkJson
from servers.openstack.call import ServersCall
from servers.openstack.image.shapes import ImageVersionsShown

CURRENT = "v2.9"
SUPPORTED = ("v2.7", "v2.6", "v2.5", "v2.4", "v2.3", "v2.2", "v2.1", "v2.0")
"""v2.8, v2.10 and above are of several stores, of which there is one here."""


def _versions(call: ServersCall) -> ImageVersionsShown:
    links: list[LinkJson] = [{"rel": "self", "href": call.absolute_url("v2", "")}]
    said = {CURRENT: "CURRENT", **dict.fromkeys(SUPPORTED, "SUPPORTED")}
    return {"versions": [{"id": version, "status": status, "links": links} for version, status in said.items()]}


def version_choices(call: ServersCall) -> JsonAnswer[ImageVersionsShown]:
    """All versions, to whoever asks for none of them."""
    return call.answer(_versions(call), status=300)


def version_list(call: ServersCall) -> JsonAnswer[ImageVersionsShown]:
    """All versions."""
    return call.answer(_versions(call))
