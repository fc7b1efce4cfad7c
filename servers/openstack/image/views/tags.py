"""One tag of an image at a time."""

from controlplane.openstack.answers import Empty
from servers.images.services.image_tags import image_tag_add, image_tag_remove
from servers.openstack.call import ServersCall
from servers.openstack.image.lookups import image_named


def tag_put(call: ServersCall, image_id: str, tag: str) -> Empty:
    """Once more changes nothing."""
    image_tag_add(caller=call.caller, image_id=image_named(image_id), tag=tag)
    return call.empty()


def tag_delete(call: ServersCall, image_id: str, tag: str) -> Empty:
    """404 where it has no such tag."""
    image_tag_remove(caller=call.caller, image_id=image_named(image_id), tag=tag)
    return call.empty()
