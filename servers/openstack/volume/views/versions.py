"""The version documents. They need no token."""

from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.shapes import MediaType
from servers.openstack.volume.call import VERSION, VolumeCall
from servers.openstack.volume.shapes import VolumeVersionJson, VolumeVersionsShown
from servers.openstack.volume.versions import MAX_VERSION, MIN_VERSION


def _versions(call: VolumeCall) -> VolumeVersionsShown:
    media: MediaType = {"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}
    version: VolumeVersionJson = {
        "id": "v3.0",
        "status": "CURRENT",
        "version": MAX_VERSION,
        "min_version": MIN_VERSION,
        "updated": "2026-11-01T00:00:00Z",
        "links": [{"rel": "self", "href": call.absolute_url(VERSION, "")}],
        "media-types": [media],
    }
    return {"versions": [version]}


def version_list(call: VolumeCall) -> JsonAnswer[VolumeVersionsShown]:
    """All versions: one. Cinder answers with 300 where no version stands in the path."""
    return call.answer(_versions(call), status=300)


def version_show(call: VolumeCall) -> JsonAnswer[VolumeVersionsShown]:
    """This one."""
    return call.answer(_versions(call))
