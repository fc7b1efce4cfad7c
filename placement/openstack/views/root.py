"""The version document."""

from controlplane.openstack.answers import JsonAnswer
from placement.openstack.call import PlacementCall
from placement.openstack.shapes import PlacementVersionsShown
from placement.openstack.versions import MAX_VERSION, MIN_VERSION

_DOCUMENT: PlacementVersionsShown = {
    "versions": [
        {
            "id": f"v{MIN_VERSION}",
            "max_version": MAX_VERSION,
            "min_version": MIN_VERSION,
            "status": "CURRENT",
            # Empty, which means this very address: the server need not know what proxies call it.
            "links": [{"rel": "self", "href": ""}],
        }
    ]
}


def version_document(call: PlacementCall) -> JsonAnswer[PlacementVersionsShown]:
    """Which versions are spoken. Needs no token."""
    return call.answer(_DOCUMENT)
