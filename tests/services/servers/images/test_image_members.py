"""Visibility and members, as Glance: who sees, lists, boots and changes what."""

import pytest

from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, NotFound, QuotaExceeded
from servers.images.selectors import (
    image_for_instance,
    image_get,
    image_members,
    images_listed,
    images_offered,
    images_visible,
)
from servers.images.services.image import image_update
from servers.images.services.image_members import image_member_add, image_member_answer, image_member_remove
from servers.models import Image, ImageMember
from tests.worlds.cloud import image, people

pytestmark = pytest.mark.django_db


def names(rows) -> set[str]:
    return {row.name for row in rows}


@pytest.fixture
def who():
    return people()


def shared(who, **more) -> Image:
    return image("shared", visibility="shared", project_id=who.member.project_id, **more)


def share(who, made: Image) -> ImageMember:
    return image_member_add(caller=who.member, image_id=made.pk, project_id=who.stranger.project_id)


def test_each_visibility_shows_to_whom_it_says(who):
    for visibility in ("public", "community", "shared", "private"):
        image(visibility, visibility=visibility, project_id=who.member.project_id)
    everything = {"public", "community", "shared", "private"}
    assert names(images_listed(caller=who.member)) == everything
    assert names(images_listed(caller=who.admin)) == everything
    assert names(images_visible(caller=who.stranger)) == {"public", "community"}
    assert names(images_listed(caller=who.stranger)) == {"public"}
    assert names(images_listed(caller=who.stranger, visibility="community")) == {"public", "community"}
    assert names(images_listed(caller=who.stranger, visibility="all")) == {"public", "community"}


def test_shared_image_is_used_by_id_at_once_and_listed_once_it_is_accepted(who):
    made = shared(who)
    with pytest.raises(NotFound):
        image_get(caller=who.stranger, image_id=made.pk)
    share(who, made)
    assert image_get(caller=who.stranger, image_id=made.pk) == made
    assert image_for_instance(caller=who.stranger, reference=str(made.pk)) == made
    assert names(images_listed(caller=who.stranger)) == set()
    assert names(images_listed(caller=who.stranger, visibility="all")) == set()
    assert names(images_listed(caller=who.stranger, member_status="pending")) == {"shared"}
    assert names(images_listed(caller=who.stranger, member_status="all")) == {"shared"}
    assert [one.image for one in images_offered(caller=who.stranger)] == [made]
    with pytest.raises(Invalid, match="does not exist"):
        image_for_instance(caller=who.stranger, reference="shared")

    def answered(status: str) -> set[str]:
        project_id = who.stranger.project_id
        image_member_answer(caller=who.stranger, image_id=made.pk, project_id=project_id, status=status)
        return names(images_listed(caller=who.stranger))

    assert answered("accepted") == {"shared"}
    assert image_for_instance(caller=who.stranger, reference="shared") == made
    assert answered("rejected") == set()
    assert images_offered(caller=who.stranger).count() == 0


def test_image_that_is_shared_no_longer_is_gone_for_members(who):
    made = shared(who)
    share(who, made)
    image_update(caller=who.member, image_id=made.pk, changes={"visibility": "private"})
    assert names(images_visible(caller=who.stranger)) == set()
    image_update(caller=who.member, image_id=made.pk, changes={"visibility": "shared"})
    assert names(images_visible(caller=who.stranger)) == {"shared"}
    image_member_remove(caller=who.member, image_id=made.pk, project_id=who.stranger.project_id)
    assert names(images_visible(caller=who.stranger)) == set()
    with pytest.raises(NotFound, match="no member"):
        image_member_remove(caller=who.member, image_id=made.pk, project_id=who.stranger.project_id)


def test_community_image_of_a_stranger_never_stands_for_a_name(who):
    mine = image("debian", project_id=who.member.project_id, visibility="private")
    image("debian", project_id=who.stranger.project_id, visibility="community")
    assert image_for_instance(caller=who.member, reference="debian") == mine


def test_member_changes_nothing_and_answers_for_itself_only(who):
    made = shared(who)
    with pytest.raises(NotFound):
        share_with = who.stranger.project_id
        image_member_answer(caller=who.stranger, image_id=made.pk, project_id=share_with, status="accepted")
    share(who, made)
    with pytest.raises(Forbidden):
        image_update(caller=who.stranger, image_id=made.pk, changes={"name": "mine"})
    with pytest.raises(Forbidden):
        image_member_add(caller=who.stranger, image_id=made.pk, project_id=who.member.project_id)
    with pytest.raises(Forbidden):
        image_member_remove(caller=who.stranger, image_id=made.pk, project_id=who.stranger.project_id)
    with pytest.raises(Forbidden, match="Only the member itself"):
        project_id = who.stranger.project_id
        image_member_answer(caller=who.member, image_id=made.pk, project_id=project_id, status="accepted")
    with pytest.raises(Invalid, match="must be one of"):
        image_member_answer(caller=who.stranger, image_id=made.pk, project_id=who.stranger.project_id, status="yes")


def test_members_see_themselves_and_owners_see_all(who):
    made, third = shared(who), Project.objects.create(name="third")
    share(who, made)
    image_member_add(caller=who.member, image_id=made.pk, project_id=third.pk)
    assert len(image_members(caller=who.member, image=made)) == 2
    assert [one.project_id for one in image_members(caller=who.stranger, image=made)] == [who.stranger.project_id]


def test_sharing_is_refused_with_a_reason(who, settings):
    made = shared(who)
    private = image("private", visibility="private", project_id=who.member.project_id)
    with pytest.raises(Conflict, match="is private: only shared ones have members"):
        image_member_add(caller=who.member, image_id=private.pk, project_id=who.stranger.project_id)
    with pytest.raises(Conflict, match="is of this project"):
        image_member_add(caller=who.member, image_id=made.pk, project_id=who.member.project_id)
    with pytest.raises(Invalid, match="does not exist"):
        image_member_add(caller=who.member, image_id=made.pk, project_id=made.pk)
    share(who, made)
    with pytest.raises(Conflict, match="member already"):
        share(who, made)
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MEMBERS": 1}
    third = Project.objects.create(name="third")
    with pytest.raises(QuotaExceeded, match="has 1 members; 1 are allowed"):
        image_member_add(caller=who.member, image_id=made.pk, project_id=third.pk)
