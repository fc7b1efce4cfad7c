"""A project's images: how many, how many bytes, how many uploads at once; and the space that uploads leave free."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, QuotaExceeded, Unavailable
from servers.catalog.domain.quota import ImageAmounts
from servers.catalog.selectors.quota import image_quota_usage
from servers.images.services.image import image_create
from servers.images.services.image_store import CHECK_BYTES, image_chunks, image_delete, image_files_sweep, image_upload
from servers.models import Image, ProjectQuotaLock
from tests.worlds.cloud import people

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    return tmp_path / "images"


@pytest.fixture
def member() -> Caller:
    return people().member


def limit(caller: Caller, **quota: int) -> None:
    Project.objects.filter(pk=caller.project_id).update(**{f"quota_{name}": value for name, value in quota.items()})


def made(caller: Caller | None) -> Image:
    return image_create(caller=caller, name="i", disk_format="raw")


def sent(image: Image, size: int, *, is_declared: bool = True) -> Image:
    declared = size if is_declared else None
    return image_upload(caller=None, image_id=image.pk, stream=io.BytesIO(b"x" * size), declared_bytes=declared)


class Meanwhile:
    """Gives its parts one by one; `before` each is done what the test wants to happen then."""

    def __init__(self, *parts: bytes, before: Callable[[int], Any]) -> None:
        self.parts, self.before, self.given = parts, before, 0

    def read(self, _size: int, /) -> bytes:
        self.before(self.given)
        self.given += 1
        return self.parts[self.given - 1] if self.given <= len(self.parts) else b""


def test_images_beyond_the_quota_are_refused_and_a_deleted_one_makes_room(member):
    limit(member, images=2)
    first = made(member)
    made(member)
    with pytest.raises(QuotaExceeded, match="images: 1 asked for, 2 of 2 in use") as refused:
        made(member)
    assert (refused.value.field, Image.objects.count()) == ("images", 2)
    image_delete(caller=member, image_id=first.pk)
    made(member)


def test_installation_and_unlimited_projects_have_no_quota(member):
    limit(member, images=-1, image_bytes=-1, image_uploads=-1)
    for caller in (None, member) * 3:
        sent(made(caller), 10)
    limit(member, images=0, image_bytes=0, image_uploads=0)
    sent(made(None), 10)
    assert image_quota_usage(project_id=member.project_id) == ImageAmounts(3, 30, 0)


@pytest.mark.parametrize("is_declared", [True, False])
def test_bytes_beyond_the_quota_are_refused_and_the_image_may_be_sent_again(member, store, is_declared):
    limit(member, image_bytes=100)
    sent(made(member), 60)
    image = made(member)
    with pytest.raises(QuotaExceeded) as refused:
        sent(image, 41, is_declared=is_declared)
    assert refused.value.field == "image_bytes"
    assert (refused.value.extra["requested"], refused.value.extra["used"], refused.value.extra["limit"]) == (
        41,
        60,
        100,
    )
    image.refresh_from_db()
    assert (image.status, image.size_bytes) == ("queued", 0)
    assert len([path for path in store.iterdir() if path.name.startswith(str(image.pk))]) == 0
    assert sent(image, 40, is_declared=is_declared).status == "active"


def test_bytes_that_are_announced_count_while_they_are_received(member):
    limit(member, image_bytes=100)
    slow, other = made(member), made(member)

    def meanwhile(given: int) -> None:
        if not given:
            with pytest.raises(QuotaExceeded, match="image_bytes: 41 asked for, 60 of 100 in use"):
                sent(other, 41)

    stream = Meanwhile(b"x" * 60, before=meanwhile)
    assert image_upload(caller=member, image_id=slow.pk, stream=stream, declared_bytes=60).status == "active"


def test_quota_that_is_used_up_while_bytes_come_ends_the_upload(member):
    limit(member, image_bytes=2 * CHECK_BYTES)
    slow, other = made(member), made(member)
    stream = Meanwhile(*[b"x" * CHECK_BYTES] * 5, before=lambda given: sent(other, 10) if given == 1 else None)
    with pytest.raises(QuotaExceeded):
        image_upload(caller=member, image_id=slow.pk, stream=stream)
    assert stream.given == 2
    assert image_quota_usage(project_id=member.project_id) == ImageAmounts(2, 10, 0)


def test_uploads_at_once_are_limited_and_one_may_replace_its_own(member):
    limit(member, image_uploads=1)
    slow, other = made(member), made(member)

    def meanwhile(given: int) -> None:
        if not given:
            with pytest.raises(QuotaExceeded, match="image_uploads: 1 asked for, 1 of 1 in use"):
                sent(other, 5)
            sent(slow, 7)

    with pytest.raises(Conflict, match="another upload"):
        image_upload(caller=member, image_id=slow.pk, stream=Meanwhile(b"x" * 9, before=meanwhile))
    slow.refresh_from_db()
    assert (slow.status, slow.size_bytes) == ("active", 7)
    assert sent(other, 5).status == "active"


def test_upload_that_a_crash_cut_off_holds_its_room_for_no_longer_than_its_file(member):
    limit(member, image_uploads=1)
    lost, other = made(member), made(member)
    rows = Image.objects.filter(pk=lost.pk)
    rows.update(status="saving", size_bytes=50, updated_at=now_plus(-3500.0))
    image_files_sweep()
    assert image_quota_usage(project_id=member.project_id) == ImageAmounts(2, 50, 1)
    rows.update(updated_at=now_plus(-3700.0))
    image_files_sweep()
    lost.refresh_from_db()
    assert (lost.status, lost.size_bytes, lost.status_reason) == ("queued", 0, "The upload was cut off.")
    assert sent(other, 5).status == "active"


def test_store_below_its_reserve_takes_nothing_and_says_no_numbers_of_the_machine(settings, member, store):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_RESERVE_BYTES": 2**62}
    image = made(member)
    with pytest.raises(Unavailable, match="no room for it now"):
        sent(image, 10)
    image.refresh_from_db()
    assert image.status == "queued"
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_RESERVE_BYTES": 0}
    assert sent(image, 10).status == "active"


def test_image_larger_than_the_free_space_is_refused_before_a_byte_is_read(settings, member):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 2**62, "DEFAULT_QUOTA_IMAGE_BYTES": -1}
    stream = Meanwhile(b"x", before=lambda _: pytest.fail("it was read"))
    with pytest.raises(Unavailable, match="no room for it now"):
        image_upload(caller=None, image_id=made(member).pk, stream=stream, declared_bytes=2**61)


def test_space_that_goes_below_the_reserve_while_bytes_come_ends_the_upload(settings, member, store):
    def meanwhile(given: int) -> None:
        if given == 1:
            settings.KILONOVA = {**settings.KILONOVA, "IMAGE_RESERVE_BYTES": 2**62}

    image = made(member)
    stream = Meanwhile(*[b"x" * CHECK_BYTES] * 5, before=meanwhile)
    with pytest.raises(Unavailable, match="no room for it now"):
        image_upload(caller=member, image_id=image.pk, stream=stream)
    assert stream.given == 2
    assert not [path for path in store.iterdir() if path.name.startswith(str(image.pk))]


def test_quota_is_counted_under_its_lock(member):
    image = made(member)
    taken = ProjectQuotaLock.objects.get(project_id=member.project_id).taken
    sent(image, 10)
    assert ProjectQuotaLock.objects.get(project_id=member.project_id).taken >= taken + 2
    assert b"".join(image_chunks(image.pk)) == b"x" * 10


def test_use_of_any_number_of_images_is_counted_in_one_query(member, django_assert_num_queries):
    for _ in range(2):
        for _ in range(10):
            sent(made(member), 1)
        with django_assert_num_queries(1):
            image_quota_usage(project_id=member.project_id)
