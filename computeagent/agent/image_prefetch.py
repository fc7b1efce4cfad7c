"""Base images: tells which ones this host has, and fetches those that it was asked to have."""

import logging
import time
from collections.abc import Callable, Iterator
from functools import partial

from computeagent.agent.context import AgentContext
from computeagent.drivers.base import DriverError
from computeagent.protocol.images import CachedImage, CacheState, WantedImage
from controlplane.kernel.errors import Conflict, Invalid, NotFound

log = logging.getLogger(__name__)

REPORT_EVERY_S = 600.0
PROGRESS_EVERY_S = 5.0


class ImagePrefetch:
    """One tick tells and fetches. What was asked for stays written down in the control plane until it is told how it
    ended, so whatever is cut off here is begun again by the next tick. A control plane without these verbs is left
    alone until its heartbeats tell of another version.
    """

    def __init__(self, context: AgentContext, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self._reported: frozenset[tuple[str, int, int]] | None = None
        self._reported_at = 0.0
        self._refused_by: str | None = None

    def tick(self, control_plane: str, look_s: float = 0.0) -> None:
        """What is wanted is asked for when a wake-up came, and every `look_s` seconds. `control_plane` is the version
        that it told last.
        """
        if self._refused_by == control_plane:
            return
        try:
            self._report(self._context.driver.cached_images())
            wanted = self._wanted() if self._context.images_wanted.is_due(look_s) else []
        except NotFound:
            self._refused_by = control_plane
            log.info("the control plane is of an earlier release and asks nothing about base images")
            return
        if wanted:  # what is cut off is asked for again by the next tick
            self._context.images_wanted.wakeup()
        for image in wanted:
            self._fetch(image)
        if wanted:
            self._report(self._context.driver.cached_images())

    def _report(self, images: list[CachedImage]) -> None:
        """All of them, when they are others than were told last; else once in a while, for when they were used."""
        now = self._clock()
        present = frozenset((image.checksum, image.size_bytes, image.guests) for image in images)
        if present == self._reported and now - self._reported_at < REPORT_EVERY_S:
            return
        self._context.conductor.images_cached(host=self._context.host, images=images)
        self._reported, self._reported_at = present, now

    def _wanted(self) -> list[WantedImage]:
        with self._context.images_wanted.asked():
            return self._context.conductor.images_wanted(host=self._context.host)

    def _fetch(self, image: WantedImage) -> None:
        """Raises Unavailable: the control plane is away or busy, and the next tick goes on."""
        try:
            self._progress(image, CacheState.FETCHING, 0)
            self._context.driver.cache_image(image, partial(self._chunks, image))
        except (DriverError, NotFound, Conflict, Invalid) as error:
            log.warning("image %s is not fetched: %s", image.image_id, error.message)
            self._progress(image, CacheState.FAILED, 0, error.message)
        else:
            log.info("image %s is in the cache", image.image_id)
            self._progress(image, CacheState.CACHED, image.image_size_bytes)

    def _chunks(self, image: WantedImage, offset: int = 0) -> Iterator[bytes]:
        done, reported_at = offset, self._clock()
        conductor, host = self._context.conductor, self._context.host
        for chunk in conductor.wanted_image_chunks(host=host, image_id=image.image_id, offset=offset):
            done += len(chunk)
            yield chunk
            if self._clock() - reported_at >= PROGRESS_EVERY_S:
                reported_at = self._clock()
                self._progress(image, CacheState.FETCHING, done)

    def _progress(self, image: WantedImage, state: CacheState, done_bytes: int, message: str = "") -> None:
        self._context.conductor.image_cache_progress(
            host=self._context.host,
            image_id=image.image_id,
            state=state,
            done_bytes=done_bytes,
            message=message[:500],
        )
