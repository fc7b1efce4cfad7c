"""Paths with characters that nobody means: each door says in its own shape that there is nothing."""

import pytest
from django.test import Client

from controlplane.launcher.openstack_doors import DOORS

pytestmark = pytest.mark.django_db


def test_a_path_with_a_line_break_is_answered_by_its_door() -> None:
    for path in (*(f"{door.mount}/v2.0/a%0Ab" for door in DOORS.values()), "/api/a%0Ab/"):
        answer = Client().get(path)
        assert answer.status_code in (401, 404), path
        assert answer["Content-Type"].startswith("application/json"), path
