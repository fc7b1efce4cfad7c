"""The verbs about base images of a host."""

import uuid
from collections.abc import Sequence

from computeagent.protocol.images import CachedImage, CacheState, WantedImage
from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from servers.agent_api.reached import OwnedHost, database_reached
from servers.images.services import host_images
from servers.images.stores.store import ImageBytes


class HostImageVerbs(OwnedHost):
    """See `computeagent.protocol.conductor.Conductor`."""

    def images_cached(self, *, host: str, images: Sequence[CachedImage]) -> None:
        """See Conductor."""
        with database_reached(), self._owned(host):
            host_images.cached_images_store(host=host, images=images)

    def images_wanted(self, *, host: str) -> list[WantedImage]:
        """See Conductor."""
        with database_reached(), self._owned(host):
            return host_images.images_wanted(host=host)

    def wanted_image_chunks(self, *, host: str, image_id: str, offset: int = 0) -> ImageBytes:
        """See Conductor."""
        with database_reached():
            return host_images.wanted_image_chunks(host=host, image_id=_image_id(image_id), offset=offset)

    def image_cache_progress(
        self, *, host: str, image_id: str, state: CacheState, done_bytes: int, message: str = ""
    ) -> None:
        """See Conductor."""
        with database_reached(), self._owned(host):
            host_images.image_cache_progress(
                host=host, image_id=_image_id(image_id), state=state, done_bytes=done_bytes, message=message
            )


def _image_id(text: str) -> uuid.UUID:
    found = parse_uuid(text)
    if found is None:
        raise NotFound("This host is not asked to have such an image.")
    return found
