"""Tags of images: written with the image, or one at a time."""

import pytest

from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, NotFound, QuotaExceeded
from servers.images.domain.image_rules import TAGS_MAX
from servers.images.services.image import image_create, image_update
from servers.images.services.image_tags import image_tag_add, image_tag_remove
from servers.models import Image, ImageTag
from tests.worlds.cloud import image, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def who():
    return people()


def tags(made: Image) -> list[str]:
    return [one.tag for one in ImageTag.objects.filter(image=made)]


def test_tags_are_a_field_of_an_image_as_a_whole(who):
    made = image_create(caller=who.member, name="i", tags=["b", "a", "b"])
    assert tags(made) == ["a", "b"]
    image_update(caller=who.member, image_id=made.pk, changes={"name": "n"}, tags=["c", "b"])
    assert tags(made) == ["b", "c"]
    image_update(caller=who.member, image_id=made.pk, changes={"name": "m"})
    assert tags(made) == ["b", "c"]
    image_update(caller=who.member, image_id=made.pk, changes={}, tags=[])
    assert tags(made) == []


def test_bad_tags_make_no_image_and_a_refused_change_leaves_them(who):
    with pytest.raises(InvalidFields) as refused:
        image_create(caller=who.member, name="i", tags=["a", ""])
    assert set(refused.value.errors) == {"tags"}
    assert not Image.objects.exists()
    made = image_create(caller=who.member, name="i", tags=["a"])
    Image.objects.update(status="active")
    with pytest.raises(Conflict):
        image_update(caller=who.member, image_id=made.pk, changes={"disk_format": "raw"}, tags=["b"])
    assert tags(made) == ["a"]


def test_one_tag_at_a_time(who):
    made = image("i", project_id=who.member.project_id)
    for _ in range(2):
        image_tag_add(caller=who.member, image_id=made.pk, tag="t")
    assert tags(made) == ["t"]
    with pytest.raises(Forbidden):
        image_tag_add(caller=who.stranger, image_id=made.pk, tag="x")
    with pytest.raises(Forbidden):
        image_tag_remove(caller=who.stranger, image_id=made.pk, tag="t")
    with pytest.raises(InvalidFields):
        image_tag_add(caller=who.member, image_id=made.pk, tag="x" * 256)
    image_tag_remove(caller=who.member, image_id=made.pk, tag="t")
    with pytest.raises(NotFound):
        image_tag_remove(caller=who.member, image_id=made.pk, tag="t")
    assert tags(made) == []


def test_an_image_has_so_many_tags(who):
    words = [f"t{number}" for number in range(TAGS_MAX)]
    made = image_create(caller=who.member, name="i", tags=words)
    image_tag_add(caller=who.member, image_id=made.pk, tag="t0")
    with pytest.raises(QuotaExceeded):
        image_tag_add(caller=who.member, image_id=made.pk, tag="more")
    with pytest.raises(InvalidFields):
        image_update(caller=who.member, image_id=made.pk, changes={}, tags=[*words, "more"])
