"""The lookup `among`: as `in`, on either database."""

import uuid

import pytest

from controlplane.identity.models import Project

pytestmark = pytest.mark.django_db


def test_among_finds_what_in_finds_also_over_a_relation() -> None:
    made = [Project.objects.create(name=f"p{number}") for number in range(4)]
    wanted = [made[1].pk, made[3].pk, uuid.uuid4()]
    assert set(Project.objects.filter(pk__among=wanted)) == {made[1], made[3]}
    assert set(Project.objects.exclude(pk__among=wanted)) >= {made[0], made[2]}
    assert not Project.objects.filter(tokens__id__among=wanted).exists()
    assert not Project.objects.filter(pk__among=[]).exists()
