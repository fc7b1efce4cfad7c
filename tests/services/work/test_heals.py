"""The record of heals: written once, kept as long as it is said."""

import uuid

import pytest
from django.conf import settings
from django.test import override_settings

from controlplane.infra.db import now_plus
from controlplane.work.heals import heal_record, heals_prune
from controlplane.work.models import Heal

pytestmark = pytest.mark.django_db(transaction=True)


def write(found: str = "Something was wrong.") -> Heal:
    heal_record(kind="probe", subject=uuid.uuid4(), found=found, done="It was put right.", evidence={"many": 3})
    return Heal.objects.get(found=found[:2000])


def test_heal_keeps_what_was_found_done_and_read() -> None:
    heal = write()
    assert (heal.kind, heal.done, heal.evidence) == ("probe", "It was put right.", {"many": 3})


def test_long_text_is_cut() -> None:
    assert len(write("x" * 5000).found) == 2000


def test_old_heals_go_and_newer_ones_stay() -> None:
    old, new = write("old"), write("new")
    Heal.objects.filter(pk=old.pk).update(created_at=now_plus(-31 * 86400.0))
    assert heals_prune() == 1
    assert list(Heal.objects.all()) == [new]
    assert heals_prune() == 0


def test_heals_are_kept_for_ever_with_a_retention_of_nothing() -> None:
    Heal.objects.filter(pk=write().pk).update(created_at=now_plus(-9999 * 86400.0))
    with override_settings(KILONOVA={**settings.KILONOVA, "HEAL_RETENTION_DAYS": 0.0}):
        assert heals_prune() == 0
