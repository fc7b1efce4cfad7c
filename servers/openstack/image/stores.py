"""The one store of images, as clients that choose among several see it."""

from collections.abc import Iterable

from controlplane.openstack.faults import bad_request
from servers.conf import server_options

STORE_HEADER = "X-Image-Meta-Store"


def store_id() -> str:
    """Its name."""
    return server_options().image_store


def stores_check(asked: Iterable[str]) -> None:
    """Raises Fault 400 where another store is asked for."""
    for one in asked:
        if one != store_id():
            raise bad_request(f"There is no image store {one:.80}: all images are in the store {store_id()}.")
