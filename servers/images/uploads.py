"""Receiving images: how many at a time. One of an image, a few of a project, and no more than there is room for.

An upload lasts as long as its sender takes, so it may not hold what other requests need. Who is refused is told when to
ask again.
"""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from controlplane.kernel.errors import Throttled
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options

ASK_AGAIN_S = 3


class UploadPlaces:
    """Those of one process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_projects: Counter[str] = Counter()
        self._images: set[uuid.UUID] = set()

    @contextmanager
    def held(self, *, project: str, image_id: uuid.UUID) -> Iterator[None]:
        """A place for as long as the bytes of this image come. Raises Throttled."""
        self._take(project, image_id)
        try:
            yield
        finally:
            with self._lock:
                self._images.discard(image_id)
                self._of_projects[project] -= 1
                if not self._of_projects[project]:
                    del self._of_projects[project]

    def _take(self, project: str, image_id: uuid.UUID) -> None:
        options = server_options()
        with self._lock:
            if image_id in self._images:
                raise Throttled(
                    _("The bytes of image {image_id} are on their way here already. Ask again.", image_id=image_id),
                    wait_s=ASK_AGAIN_S,
                )
            mine, all_taken = self._of_projects[project], len(self._images)
            if mine >= options.image_uploads_each or all_taken >= options.image_uploads:
                raise Throttled(
                    _(
                        "{mine} images come from this project already and {all_taken} in all; a web process receives "
                        "{image_uploads_each} from each and {image_uploads} in all. Ask again.",
                        mine=mine,
                        all_taken=all_taken,
                        image_uploads_each=options.image_uploads_each,
                        image_uploads=options.image_uploads,
                    ),
                    wait_s=ASK_AGAIN_S,
                )
            self._images.add(image_id)
            self._of_projects[project] += 1


_PLACES = UploadPlaces()


def upload_places() -> UploadPlaces:
    """Those of this process."""
    return _PLACES


def uploads_at_once() -> int:
    """How many places there are."""
    return server_options().image_uploads
