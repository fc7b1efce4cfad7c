"""Base images of hosts: what agents report, and requests that hosts fetch images beforehand, until they end."""

import uuid
from datetime import timedelta

import pytest

from computeagent.protocol.images import CachedImage, CacheState
from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.work.models import NamedLease, Wakeup
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable
from servers.agent_api import conductor_connect
from servers.hosts.selectors.images import image_cache_requests, images_on_host
from servers.hosts.services.removal import host_remove
from servers.images.services.host_images import GIVEN_UP, aggregate_images_cache, image_cache_round
from servers.models import Image, ImageCacheRequest, ImageOnHost
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
SUM = "a" * 64


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


@pytest.fixture
def image(who: world.People) -> Image:
    return Image.objects.create(name="cirros", status="active", checksum_sha256=SUM, size_bytes=9, visibility="public")


@pytest.fixture
def aggregate(who: world.People) -> uuid.UUID:
    made = aggregate_create(name="rack-1")
    for host in ("h1", "h2"):
        aggregate_host_add(aggregate_id=made.pk, host=host)
    return made.pk


def ask(aggregate: uuid.UUID, *images: Image) -> int:
    return aggregate_images_cache(aggregate_id=aggregate, image_ids=[one.pk for one in images], asked_by="root")


def states() -> list[tuple[str, str]]:
    return list(ImageCacheRequest.objects.order_by("host").values_list("host", "state"))


def test_report_replaces_what_was_told_before(image: Image) -> None:
    conductor = conductor_connect()
    conductor.images_cached(host="h1", images=[CachedImage(SUM, 4096, 60, 2), CachedImage("b" * 64, 1)])
    conductor.images_cached(host="h2", images=[CachedImage(SUM, 4096)])
    conductor.images_cached(host="h1", images=[CachedImage(SUM, 8192, 5, 3), CachedImage("no checksum", 1)])

    (found,) = images_on_host(host="h1")
    assert (found.names, found.size_bytes, found.guests) == (("cirros",), 8192, 3)
    assert db_now() - found.last_used_at < timedelta(seconds=30)
    assert ImageOnHost.objects.filter(host="h2").count() == 1
    conductor.images_cached(host="h1", images=[])
    assert images_on_host(host="h1") == []


def test_every_host_of_the_aggregate_is_asked_and_tells_how_it_ended(aggregate: uuid.UUID, image: Image) -> None:
    assert ask(aggregate, image) == 2
    woken = Wakeup.objects.filter(code="images").values_list("queue", flat=True)
    assert set(woken) == {"compute.h1", "compute.h2"}
    conductor = conductor_connect()
    (wanted,) = conductor.images_wanted(host="h1")
    assert (wanted.image_id, wanted.image_checksum, wanted.image_size_bytes) == (str(image.pk), SUM, 9)

    conductor.image_cache_progress(host="h1", image_id=wanted.image_id, state=CacheState.FETCHING, done_bytes=4)
    assert states() == [("h1", "fetching"), ("h2", "waiting")]
    conductor.image_cache_progress(host="h1", image_id=wanted.image_id, state=CacheState.CACHED, done_bytes=9)
    conductor.image_cache_progress(
        host="h2", image_id=wanted.image_id, state=CacheState.FAILED, done_bytes=0, message="no space\n"
    )
    assert states() == [("h1", "cached"), ("h2", "failed")]
    assert [one.message for one in image_cache_requests(host="h2")] == ["no space "]
    assert conductor.images_wanted(host="h1") == []


def test_asked_again_what_failed_begins_anew_and_what_is_under_way_stays(aggregate: uuid.UUID, image: Image) -> None:
    ask(aggregate, image)
    conductor, image_id = conductor_connect(), str(image.pk)
    conductor.image_cache_progress(host="h1", image_id=image_id, state=CacheState.FETCHING, done_bytes=4)
    conductor.image_cache_progress(host="h2", image_id=image_id, state=CacheState.FAILED, done_bytes=0, message="x")

    ask(aggregate, image, image)

    assert states() == [("h1", "fetching"), ("h2", "waiting")]
    assert {one.message for one in ImageCacheRequest.objects.all()} == {""}


def test_what_ended_is_told_once_and_read_no_more(aggregate: uuid.UUID, image: Image) -> None:
    ask(aggregate, image)
    conductor, image_id = conductor_connect(), str(image.pk)
    conductor.image_cache_progress(host="h1", image_id=image_id, state=CacheState.CACHED, done_bytes=9)
    with pytest.raises(NotFound):
        conductor.image_cache_progress(host="h1", image_id=image_id, state=CacheState.FAILED, done_bytes=0)
    with pytest.raises(NotFound):
        conductor.wanted_image_chunks(host="h1", image_id=image_id)
    for nonsense in ("", "no uuid", str(uuid.uuid4())):
        with pytest.raises(NotFound):
            conductor.wanted_image_chunks(host="h2", image_id=nonsense)
    assert states() == [("h1", "cached"), ("h2", "waiting")]


def test_image_that_is_deleted_meanwhile_ends_the_request(aggregate: uuid.UUID, image: Image) -> None:
    ask(aggregate, image)
    Image.objects.update(status="deleted")
    assert conductor_connect().images_wanted(host="h1") == []
    assert states() == [("h1", "failed"), ("h2", "waiting")]


def test_refusals_name_the_reason_and_ask_nobody(aggregate: uuid.UUID, image: Image) -> None:
    queued = Image.objects.create(name="queued", status="queued")
    for ids, words in (([uuid.uuid4()], "does not exist"), ([image.pk, queued.pk], "is queued"), ([], "1 to 32")):
        with pytest.raises(Invalid, match=words):
            aggregate_images_cache(aggregate_id=aggregate, image_ids=ids, asked_by="root")
    with pytest.raises(NotFound):
        aggregate_images_cache(aggregate_id=uuid.uuid4(), image_ids=[image.pk], asked_by="root")
    empty = aggregate_create(name="empty")
    with pytest.raises(Conflict, match="has no hosts"):
        aggregate_images_cache(aggregate_id=empty.pk, image_ids=[image.pk], asked_by="root")
    assert states() == []


def test_agent_that_lost_its_host_changes_nothing(aggregate: uuid.UUID, image: Image) -> None:
    ask(aggregate, image)
    first = conductor_connect()
    first.host_own(host="h1", agent_id=str(uuid.uuid4()), guests=[])
    NamedLease.objects.update(until=now_plus(-1))
    conductor_connect().host_own(host="h1", agent_id=str(uuid.uuid4()), guests=[])
    with pytest.raises(Conflict):
        first.images_cached(host="h1", images=[CachedImage(SUM, 1)])
    with pytest.raises(Conflict):
        first.image_cache_progress(host="h1", image_id=str(image.pk), state=CacheState.CACHED, done_bytes=9)
    assert (images_on_host(host="h1"), states()) == ([], [("h1", "waiting"), ("h2", "waiting")])


def test_request_that_nobody_takes_up_ends_after_a_day_and_goes_after_a_week(
    aggregate: uuid.UUID, image: Image
) -> None:
    ask(aggregate, image)
    ImageCacheRequest.objects.filter(host="h1").update(asked_at=db_now() - timedelta(days=2))
    assert image_cache_round() == 0
    assert states() == [("h1", "failed"), ("h2", "waiting")]
    assert ImageCacheRequest.objects.get(host="h1").message == GIVEN_UP
    ImageCacheRequest.objects.update(asked_at=db_now() - timedelta(days=8))
    assert image_cache_round() == 2


def test_removed_host_takes_its_images_along(aggregate: uuid.UUID, image: Image) -> None:
    ask(aggregate, image)
    conductor_connect().images_cached(host="h1", images=[CachedImage(SUM, 1)])
    service_disable(host="h1")
    host_remove(host="h1")
    assert (ImageOnHost.objects.count(), states()) == (0, [("h2", "waiting")])
