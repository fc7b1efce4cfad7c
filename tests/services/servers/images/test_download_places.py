"""Places for downloads: so many in all, so many each, given back once."""

from typing import Any

import pytest

from controlplane.kernel.errors import NotFound, Throttled
from servers.images.downloads import DownloadPlaces
from servers.images.stores.store import ImageBytes

pytestmark = pytest.mark.django_db  # Django looks after its connections when an answer is closed


class Source:
    def __init__(self) -> None:
        self.rest = [b"ab", b"c"]

    def read(self, size: int, /) -> bytes:
        return self.rest.pop(0) if self.rest else b""

    def close(self) -> None: ...


def data() -> ImageBytes:
    return ImageBytes(Source(), 3)


@pytest.fixture
def places(settings: Any) -> DownloadPlaces:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DOWNLOADS": 3, "IMAGE_DOWNLOADS_EACH": 2}
    return DownloadPlaces()


def test_each_gets_its_share_and_all_get_no_more_than_there_are(places: DownloadPlaces) -> None:
    first, second = places.response("h1", data), places.response("h1", data)
    with pytest.raises(Throttled, match="2 downloads of images go there already and 2 in all") as refused:
        places.response("h1", data)
    assert refused.value.extra["wait_s"] == 3
    third = places.response("h2", data)
    with pytest.raises(Throttled, match="0 downloads of images go there already and 3 in all"):
        places.response("h3", data)
    first.close()
    first.close()
    assert places.taken() == 2
    fourth = places.response("h3", data)
    for response in (second, third, fourth):
        response.close()
    assert places.taken() == 0


def test_answer_has_its_bytes_and_their_length(places: DownloadPlaces) -> None:
    response = places.response("h1", data)
    assert (response["Content-Length"], b"".join(response)) == ("3", b"abc")
    response.close()
    assert places.taken() == 0


def _gone() -> ImageBytes:
    raise NotFound("no image")


def test_refused_request_takes_no_place(places: DownloadPlaces) -> None:
    with pytest.raises(NotFound):
        places.response("h1", _gone)
    assert places.taken() == 0
