"""Policies in Django's admin: each step asks first, and goes through the services."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from controlplane.identity.models import User
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.models import SchedulerPolicy
from scheduling.policies.selectors.policies import policy_active
from scheduling.policies.services.policies import policy_create, policy_validate
from tests.services.scheduling.fleet.fleet_world import fleet, request
from tests.worlds.admin_actions import ask_and_confirm

pytestmark = pytest.mark.django_db

LIST = "admin:scheduling_schedulerpolicy_changelist"
ADD = "admin:scheduling_schedulerpolicy_add"
CHANGE = "admin:scheduling_schedulerpolicy_change"
STEP = "admin:scheduling_schedulerpolicy_step"


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="root", password="a-long-password"))
    return client


def validated(**body: Any) -> SchedulerPolicy:
    made = policy_create(body=body)
    assert policy_validate(policy_id=made.pk).valid
    return made


def text(page: Any) -> str:
    assert isinstance(page, HttpResponse)
    assert page.status_code == 200
    return page.content.decode()


def take(browser: Client, row: SchedulerPolicy, step: str, **given: Any) -> Any:
    return browser.post(reverse(STEP, args=[row.pk, step]), given)


def fresh(row: SchedulerPolicy) -> SchedulerPolicy:
    return SchedulerPolicy.objects.get(pk=row.pk)


def test_added_policy_is_a_draft_of_its_author(browser: Client) -> None:
    body = {"name": "default", "body": '{"host_subset_size": 2}', "comment": "spread"}
    assert browser.post(reverse(ADD), body).status_code == 302
    made = SchedulerPolicy.objects.get()
    assert (made.label, made.state, made.author, made.comment) == ("default-v1", "draft", "root", "spread")


def test_draft_is_edited(browser: Client) -> None:
    made = policy_create(body={})
    page = text(browser.get(reverse(CHANGE, args=[made.pk])))
    assert "Validate" in page
    body = {"body": '{"host_subset_size": 4}', "comment": "", "seen_revision": 1}
    assert browser.post(reverse(CHANGE, args=[made.pk]), body).status_code == 302
    assert fresh(made).body == {"host_subset_size": 4}


def test_body_is_indented_and_what_is_wrong_stands_below_it_by_field(browser: Client) -> None:
    made = policy_create(body={"filters": ["NoSuchFilter"], "max_attempts": 0})
    page = text(browser.get(reverse(CHANGE, args=[made.pk])))
    assert "{\n  &quot;filters&quot;: [\n    &quot;NoSuchFilter&quot;" in page
    assert "<li><b>filters.NoSuchFilter</b>: " in page
    assert "<li><b>max_attempts</b>: " in page


def test_what_is_no_json_is_refused_with_its_place_and_stays_typed(browser: Client) -> None:
    made = policy_create(body={})
    body = {"body": '{"filters": [,]}', "comment": "", "seen_revision": 1}
    page = text(browser.post(reverse(CHANGE, args=[made.pk]), body))
    assert "This is no JSON: Expecting value: line 1 column 14" in page
    assert "{&quot;filters&quot;: [,]}" in page
    assert fresh(made).body == {}


@pytest.mark.parametrize("body", ["[]", "3", "null", '{"x": NaN}'])
def test_body_of_another_form_is_refused_at_its_field(browser: Client, body: str) -> None:
    page = browser.post(reverse(ADD), {"name": "default", "body": body, "comment": ""})
    assert 'class="errorlist"' in text(page)
    assert not SchedulerPolicy.objects.exists()


def test_edit_of_an_old_revision_is_refused(browser: Client) -> None:
    made = policy_create(body={})
    body = {"body": '{"host_subset_size": 4}', "comment": "", "seen_revision": 1}
    browser.post(reverse(CHANGE, args=[made.pk]), body)
    page = browser.post(reverse(CHANGE, args=[made.pk]), {**body, "body": '{"host_subset_size": 5}'}, follow=True)
    assert "was changed meanwhile" in page.content.decode()
    assert fresh(made).body == {"host_subset_size": 4}


def test_immutable_version_is_only_shown(browser: Client) -> None:
    made = policy_create(body={}, activate=True)
    assert 'name="body"' not in text(browser.get(reverse(CHANGE, args=[made.pk])))
    assert browser.post(reverse(CHANGE, args=[made.pk]), {"body": "{}"}).status_code == 403


def test_problems_of_a_draft_are_shown_by_field(browser: Client) -> None:
    made = policy_create(body={"filters": ["NoSuchFilter"], "max_attempts": 0})
    page = text(take(browser, made, "validate"))
    assert "filters.NoSuchFilter" in page
    assert "max_attempts" in page
    assert fresh(made).state == "draft"


def test_draft_is_validated(browser: Client) -> None:
    made = policy_create(body={})
    assert take(browser, made, "validate").status_code == 302
    assert fresh(made).state == "validated"


def test_activation_asks_first_and_then_counts(browser: Client) -> None:
    made = validated()
    assert "never changes again" in text(browser.get(reverse(STEP, args=[made.pk, "activate"])))
    assert policy_active().version == "defaults"
    assert take(browser, made, "activate", replaces="").status_code == 302
    assert policy_active().version == made.label


def test_activation_from_a_page_that_is_out_of_date_is_refused(browser: Client) -> None:
    made = validated()
    other = policy_create(body={}, activate=True)
    page = text(take(browser, made, "activate", replaces=""))
    assert f"The active version is {other.label} now" in page
    assert policy_active().version == other.label


def test_roll_back_asks_first_and_then_counts(browser: Client) -> None:
    first = policy_create(body={}, activate=True)
    second = policy_create(body={}, activate=True)
    page = text(browser.get(reverse(STEP, args=[first.pk, "rollback"])))
    assert f'value="{second.pk}"' in page
    take(browser, first, "rollback", replaces=str(second.pk))
    assert policy_active().version == first.label


def test_preview_shows_counts_and_says_on_what_it_ran(browser: Client) -> None:
    fleet(2)
    destinations_select(request=request(), inputs=scheduling_inputs())
    page = text(take(browser, policy_create(body={}), "preview", last=5))
    assert "1 decisions under default-v1" in page
    assert "on the fleet that they saw" in page


def test_shadow_is_started_and_ended(browser: Client) -> None:
    made = validated()
    take(browser, made, "shadow", share="0.25")
    assert (fresh(made).shadow, fresh(made).shadow_share) == (True, 0.25)
    take(browser, made, "shadow-end")
    assert not fresh(made).shadow


def test_retired_active_version_leaves_the_defaults(browser: Client) -> None:
    take(browser, policy_create(body={}, activate=True), "retire")
    assert policy_active().version == "defaults"


def test_action_brings_the_defaults_back(browser: Client) -> None:
    made = policy_create(body={}, activate=True)
    ask_and_confirm(browser, reverse(LIST), "defaults", [str(made.pk)])
    assert policy_active().version == "defaults"


def test_draft_is_deleted_and_a_immutable_version_is_not(browser: Client) -> None:
    draft, immutable = policy_create(body={}), policy_create(body={}, activate=True)
    for row in (draft, immutable):
        browser.post(reverse("admin:scheduling_schedulerpolicy_delete", args=[row.pk]), {"post": "yes"})
    assert list(SchedulerPolicy.objects.values_list("pk", flat=True)) == [immutable.pk]


def test_unknown_step_is_not_found(browser: Client) -> None:
    assert browser.get(reverse(STEP, args=[validated().pk, "explode"])).status_code == 404


def test_person_who_may_only_look_previews_and_does_not_activate() -> None:
    user = User.objects.create_user(username="viewer", password="a-long-password", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_schedulerpolicy"))
    client, made = Client(), validated()
    client.force_login(user)
    assert take(client, made, "preview", last=5).status_code == 200
    assert take(client, made, "activate", replaces="").status_code == 403
    assert policy_active().version == "defaults"
