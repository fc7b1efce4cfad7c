"""The verbs about base images, of a control plane in memory."""

from collections.abc import Iterator, Sequence

from computeagent.protocol.consoles import ConsoleOrder
from computeagent.protocol.images import OPEN_CACHE_STATES, CachedImage, CacheState, WantedImage
from controlplane.kernel.errors import NotFound


class ImagesAsked:
    """What a host is asked to have, and what it told."""

    image = b""

    def __init__(self) -> None:
        self.wanted_images: dict[str, WantedImage] = {}
        self.wanted_from: list[int] = []
        self.images_told: list[list[str]] = []
        self.image_progress: list[tuple[str, CacheState, str]] = []

    def images_cached(self, *, host: str, images: Sequence[CachedImage]) -> None:
        """See Conductor."""
        self.images_told.append([image.checksum for image in images])

    def consoles_wanted(self, *, host: str) -> list[ConsoleOrder]:
        """Nobody looks."""
        return []

    def images_wanted(self, *, host: str) -> list[WantedImage]:
        """See Conductor."""
        return list(self.wanted_images.values())

    def wanted_image_chunks(self, *, host: str, image_id: str, offset: int = 0) -> Iterator[bytes]:
        """See Conductor."""
        if image_id not in self.wanted_images:
            raise NotFound("this image is not wanted here")
        self.wanted_from.append(offset)
        yield self.image[offset:]

    def image_cache_progress(
        self, *, host: str, image_id: str, state: CacheState, done_bytes: int, message: str = ""
    ) -> None:
        """See Conductor."""
        self.image_progress.append((image_id, state, message))
        if state not in OPEN_CACHE_STATES:
            del self.wanted_images[image_id]
