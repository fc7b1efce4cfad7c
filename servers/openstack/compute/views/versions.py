"""The version documents. They need no token."""

from typing import Any

from django.http import HttpResponse

from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.versions import MAX_VERSION, MIN_VERSION


def _version(call: ComputeCall, path: str) -> dict[str, Any]:
    is_old = path == "v2"
    return {
        "id": "v2.0" if is_old else path,
        "status": "DEPRECATED" if is_old else "CURRENT",
        "version": "" if is_old else MAX_VERSION,
        "min_version": "" if is_old else MIN_VERSION,
        "updated": "2011-01-21T11:33:21Z" if is_old else "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": call.absolute_url(path, "")}],
    }


def version_list(call: ComputeCall) -> HttpResponse:
    """Both: what the old one's paths answer is what those of the new one do."""
    return call.answer({"versions": [_version(call, "v2"), _version(call, "v2.1")]})


def version_old(call: ComputeCall) -> HttpResponse:
    """The old one alone."""
    return _one(call, "v2", "2")


def version_current(call: ComputeCall) -> HttpResponse:
    """The one with microversions alone."""
    return _one(call, "v2.1", "2.1")


def _one(call: ComputeCall, path: str, number: str) -> HttpResponse:
    media = {"base": "application/json", "type": f"application/vnd.openstack.compute+json;version={number}"}
    return call.answer({"version": {**_version(call, path), "media-types": [media]}})
