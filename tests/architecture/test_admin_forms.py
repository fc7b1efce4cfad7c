"""A form of the admin whose rows a service writes shows a refusal at the fields, with what was typed."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin, autodiscover
from django.contrib.auth.admin import UserAdmin

from controlplane.infra.admin.bases import RefusalsAtFields

autodiscover()
SAVING = sorted(
    (type(one) for one in admin.site._registry.values() if type(one).save_model is not ModelAdmin.save_model),
    key=lambda one: one.__name__,
)


def test_walk_finds_forms_that_services_save() -> None:
    assert len(SAVING) > 5


@pytest.mark.parametrize("model_admin", SAVING, ids=lambda one: one.__name__)
def test_refusal_of_a_service_keeps_the_form(model_admin: type[Any]) -> None:
    assert issubclass(model_admin, (RefusalsAtFields, UserAdmin))
