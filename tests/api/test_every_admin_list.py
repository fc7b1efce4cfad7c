"""Every list of the Django admin: bounded, as many queries for many rows as for few, and open to nobody unasked."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin import autodiscover
from django.contrib.admin.filters import AllValuesFieldListFilter, RelatedFieldListFilter
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from controlplane.identity.models import User
from tests.worlds.any_rows import row_make, rows_make

pytestmark = pytest.mark.django_db
autodiscover()
MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
ALONE = {"servers.ImageStore", "audit_log.AuditLogChain", "identity.QuotaClass"}
"""Tables of one row for the installation."""
TRUE_ROWS_ONLY = {"scheduling.SchedulingDecision"}
"""Its page reads the trace, which only a decision writes."""
MAX_QUERIES = 16
FEW, FULL, MORE = 3, 55, 75
"""Rows of a list; fifty are a page."""
INLINE = re.compile(r"<style|\sstyle=|<script(?![^>]*\bsrc=)|\son[a-z]+=")
"""Styles and scripts that the policy of content forbids."""


def of(model: Any) -> str:
    return str(model._meta.label)


def listed(model: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="boss", password="a-long-password"))
    return client


def queries_of(browser: Client, model: Any) -> tuple[int, str]:
    with CaptureQueriesContext(
        connection,
    ) as seen:
        answer = browser.get(listed(model))
    assert answer.status_code == 200, answer.content[:500]
    return len(seen), answer.content.decode()


@pytest.mark.long
@pytest.mark.parametrize("model", [one for one in MODELS if of(one) not in ALONE], ids=of)
def test_list_costs_the_same_for_few_and_many_rows(browser: Client, model: Any) -> None:
    rows_make(model, FEW)
    browser.get(listed(model))
    few, _ = queries_of(browser, model)
    rows_make(model, FULL - FEW)
    full, page = queries_of(browser, model)
    assert full == few
    assert few <= MAX_QUERIES
    rows_make(model, MORE - FULL)
    _, longer = queries_of(browser, model)
    assert len(longer) < len(page) * 1.05 + 2000, "the page grows with the table"


@pytest.mark.parametrize("model", [one for one in MODELS if of(one) in ALONE], ids=of)
def test_list_of_one_row_opens(browser: Client, model: Any) -> None:
    assert browser.get(listed(model)).status_code == 200


@pytest.mark.parametrize("model", MODELS, ids=of)
def test_list_is_filtered_by_what_is_typed_and_offers_no_values_of_a_table(browser: Client, model: Any) -> None:
    model_admin = admin.site._registry[model]
    names = [one.parameter for one in model_admin.list_filter if hasattr(one, "parameter")]
    page = browser.get(listed(model))
    assert not INLINE.search(page.content.decode())
    request = page.wsgi_request
    specs, *_ = model_admin.get_changelist_instance(request).get_filters(request)
    of_values = [one.title for one in specs if isinstance(one, AllValuesFieldListFilter | RelatedFieldListFilter)]
    assert not of_values, "these offer every value that the table has"
    asked = dict.fromkeys(names, "x'1%") | ({"q": "a b"} if model_admin.search_fields else {})
    assert browser.get(listed(model), asked).status_code == 200


def test_lists_are_closed_to_members_and_to_staff_without_rights() -> None:
    member, staff = Client(), Client()
    member.force_login(User.objects.create_user(username="member", password="a-long-password"))
    staff.force_login(User.objects.create_user(username="staff", password="a-long-password", is_staff=True))
    answers = {of(model): (member.get(listed(model)), staff.get(listed(model))) for model in MODELS}
    assert {
        label for label, (one, other) in answers.items() if (one.status_code, other.status_code) != (302, 403)
    } == set()
    assert all(one["Location"].startswith("/admin/login/") for one, _ in answers.values())


def test_staff_without_rights_see_no_section_and_no_plumbing() -> None:
    staff = Client()
    staff.force_login(User.objects.create_user(username="staff", password="a-long-password", is_staff=True))
    start = staff.get(reverse("admin:index"))
    assert "You have no permission to see or change anything here." in start.content.decode()
    assert staff.get(reverse("admin:plumbing")).status_code == 403
    anybody = Client()
    assert anybody.get(reverse("admin:plumbing")).status_code == 302


def test_staff_see_the_sections_of_their_rights() -> None:
    user = User.objects.create_user(username="staff", password="a-long-password", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_flavor", "view_attemptrecord"]))
    staff = Client()
    staff.force_login(user)
    sections = staff.get(reverse("admin:index")).context["app_list"]
    assert [(one["name"], [model["object_name"] for model in one["models"]]) for one in sections] == [
        ("Compute", ["Flavor"]),
        ("Plumbing", ["Plumbing"]),
    ]
    tables = staff.get(reverse("admin:plumbing")).context["tables"]
    assert [(one["object_name"], one["meaning"]) for one in tables] == [("AttemptRecord", "Hosts that were tried.")]


def test_no_page_has_inline_styles_or_scripts(browser: Client) -> None:
    for path in (reverse("admin:index"), reverse("admin:plumbing")):
        assert not INLINE.search(browser.get(path).content.decode()), path


@pytest.mark.parametrize("model", [one for one in MODELS if of(one) not in ALONE | TRUE_ROWS_ONLY], ids=of)
def test_page_of_a_row_opens_with_what_hangs_on_it(browser: Client, model: Any) -> None:
    row = row_make(model)
    for inline in admin.site._registry[model].inlines:
        row_make_below(inline, row)
    answer = browser.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk]))
    assert answer.status_code == 200


def row_make_below(inline: Any, row: Any) -> None:
    """A row of the inline's table that belongs to this one."""
    fields = [
        one.name
        for one in inline.model._meta.concrete_fields
        if one.is_relation and one.related_model is type(row) and one.name in (inline.fk_name or one.name)
    ]
    below = row_make(inline.model)
    inline.model._default_manager.filter(pk=below.pk).update(**{fields[0]: row})
