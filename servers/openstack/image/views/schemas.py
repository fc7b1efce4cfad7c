"""The published JSON schemas."""

from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import not_found
from servers.openstack.call import ServersCall
from servers.openstack.image.published_schemas import PUBLISHED
from servers.openstack.image.shapes import PublishedSchema


def schema_show(call: ServersCall, name: str) -> JsonAnswer[PublishedSchema]:
    """One of them."""
    if name not in PUBLISHED:
        raise not_found(f"There is no schema {name:.80}.")
    return call.answer(PUBLISHED[name])
