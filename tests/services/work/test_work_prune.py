"""Rows of work that ended long ago."""

import uuid

import pytest
from django.conf import settings
from django.test import override_settings

from controlplane.infra.db import now_plus
from controlplane.work.models import Work, WorkState
from controlplane.work.prune import work_prune
from controlplane.work.work import NewWork, work_create

pytestmark = pytest.mark.django_db(transaction=True)
LONG_AGO_S = -91 * 86400.0


def made(**changes: object) -> Work:
    work = work_create(NewWork("conductor", "probe", uuid.uuid4(), 60.0))
    Work.objects.filter(pk=work.pk).update(created_at=now_plus(LONG_AGO_S), **changes)
    return work


def test_ended_long_ago_goes_and_what_ended_lately_or_is_open_stays() -> None:
    made(state=WorkState.DONE, finished_at=now_plus(LONG_AGO_S))
    lately = made(state=WorkState.FAILED, finished_at=now_plus(-60.0))
    still_open = made()
    assert work_prune() == 1
    assert set(Work.objects.all()) == {lately, still_open}


def test_retention_of_nothing_keeps_all() -> None:
    made(state=WorkState.DONE, finished_at=now_plus(LONG_AGO_S))
    with override_settings(KILONOVA={**settings.KILONOVA, "WORK_RETENTION_DAYS": 0.0}):
        assert work_prune() == 0
