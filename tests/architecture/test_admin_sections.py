"""Every model of the Django admin has one place there: a section, or under plumbing."""

from collections import Counter

from django.contrib import admin
from django.contrib.admin import autodiscover

from controlplane.dashboard.django_admin.sections import PLUMBING, SECTIONS
from controlplane.infra.admin.large_tables import LargeTableAdmin

autodiscover()
PLACES = Counter(label for section in (*SECTIONS, PLUMBING) for label in section.models)
REGISTERED = {model._meta.label for model in admin.site._registry}


def test_every_model_has_one_place() -> None:
    assert REGISTERED - set(PLACES) == set(), "put these into a section, or under plumbing"
    assert set(PLACES) - REGISTERED == set(), "these are registered nowhere"
    assert [label for label, count in PLACES.items() if count > 1] == []


def test_every_list_is_bounded() -> None:
    assert [type(one).__name__ for one in admin.site._registry.values() if not isinstance(one, LargeTableAdmin)] == []
