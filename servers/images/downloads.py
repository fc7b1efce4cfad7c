"""Sending images: how many at a time, and as answers that the kernel can send by itself.

A download may take minutes, and a web process has few threads and one network. So each process sends so many images to
agents at a time, and as many to users, neither of which can take the other's places; one host, or the users of one
project, get a few of them. Who is refused is told when to ask again, and nothing else waits for it.
"""

import threading
from collections import Counter
from collections.abc import Callable

from django.http import FileResponse

from controlplane.kernel.errors import Throttled
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.stores.store import ImageBytes

ASK_AGAIN_S = 3
OCTETS = "application/octet-stream"


class ImageResponse(FileResponse):
    """The bytes, with their length, so that whoever reads knows a cut from the end whatever is between."""

    def __init__(self, data: ImageBytes) -> None:
        super().__init__(data, content_type=OCTETS, headers={"Content-Length": str(data.size_bytes)})


class DownloadPlaces:
    """Those of one process for agents, or for users. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def response(self, whose: str, open_bytes: Callable[[], ImageBytes]) -> ImageResponse:
        """The answer with these bytes, which has its place until it is closed.

        Raises Throttled when all places, or those of this host or project, are taken; and what `open_bytes` raises.
        """
        self._take(whose)
        try:
            data = open_bytes()
        except BaseException:
            self._give_back(whose)
            raise
        data.when_closed(lambda: self._give_back(whose))
        return ImageResponse(data)

    def taken(self) -> int:
        """How many are being sent."""
        with self._lock:
            return self._taken.total()

    def _take(self, whose: str) -> None:
        options = server_options()
        with self._lock:
            mine, all_taken = self._taken[whose], self._taken.total()
            if mine < options.image_downloads_each and all_taken < options.image_downloads:
                self._taken[whose] += 1
                return
        raise Throttled(
            _(
                "{mine} downloads of images go there already and {all_taken} in all; a web process "
                "sends {image_downloads_each} to each and {image_downloads} in all. Ask again.",
                mine=mine,
                all_taken=all_taken,
                image_downloads_each=options.image_downloads_each,
                image_downloads=options.image_downloads,
            ),
            wait_s=ASK_AGAIN_S,
        )

    def _give_back(self, whose: str) -> None:
        with self._lock:
            self._taken[whose] -= 1
            if not self._taken[whose]:
                del self._taken[whose]


_TO_AGENTS, _TO_USERS = DownloadPlaces(), DownloadPlaces()


def agent_downloads() -> DownloadPlaces:
    """Those of agents; `whose` is the host."""
    return _TO_AGENTS


def user_downloads() -> DownloadPlaces:
    """Those of people and their programs; `whose` is the project."""
    return _TO_USERS


def senders_needed() -> int:
    """How many threads send images when all places are taken."""
    return 2 * server_options().image_downloads
