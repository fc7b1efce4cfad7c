"""The fleet in Django's admin."""

import pytest
from django.contrib import admin as django_admin
from django.test import Client
from django.urls import reverse

from controlplane.identity.models import User
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.errors import NoValidHost
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.models import Aggregate, AggregateHost, Cell, SchedulingDecision, Service
from tests.services.scheduling.fleet.fleet_world import fleet, request
from tests.worlds.admin_actions import ask_and_confirm, pairs

pytestmark = pytest.mark.django_db

MODELS = [model for model in django_admin.site._registry if model._meta.app_label == "scheduling"]


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="root", password="a-long-password"))
    return client


def act(browser: Client, model: str, action: str, pk: object) -> None:
    url = reverse(f"admin:scheduling_{model}_changelist")
    assert browser.post(url, {"action": action, "_selected_action": [str(pk)]}).status_code == 302


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_list_opens_and_can_be_searched(browser: Client, model: type) -> None:
    fleet(2)
    destinations_select(request=request(), inputs=scheduling_inputs())
    aggregate_host_add(aggregate_id=aggregate_create(name="rack").pk, host="cmp-00")
    url = reverse(f"admin:scheduling_{model._meta.model_name}_changelist")  # type: ignore[attr-defined]
    assert browser.get(url, {"q": "cmp"}).status_code == 200


def test_decision_page_shows_funnel_and_reasons(browser: Client) -> None:
    fleet(2)
    with pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(memory_mib=9000), inputs=scheduling_inputs())
    page = browser.get(reverse("admin:scheduling_schedulingdecision_change", args=[caught.value.decision_id]))
    assert "memory: wants 8.8 GiB, has 4 GiB of 4.5 GiB" in page.content.decode()


@pytest.mark.parametrize("model", [Service, SchedulingDecision, Cell])
def test_states_are_never_edited_raw(browser: Client, model: type) -> None:
    assert browser.get(reverse(f"admin:scheduling_{model._meta.model_name}_add")).status_code == 403  # type: ignore[attr-defined]


def test_service_is_disabled_and_enabled_by_actions(browser: Client) -> None:
    fleet(1)
    service = Service.objects.get()
    act(browser, "service", "disable", service.pk)
    assert Service.objects.get().disabled_reason == "disabled in the admin by root"
    act(browser, "service", "enable", service.pk)
    assert not Service.objects.get().disabled


def test_service_is_forced_down_by_an_action(browser: Client) -> None:
    fleet(1)
    ask_and_confirm(
        browser, reverse("admin:scheduling_service_changelist"), "force_down", [str(Service.objects.get().pk)]
    )
    assert Service.objects.get().forced_down


def test_aggregate_is_made_with_its_hosts(browser: Client) -> None:
    fleet(2)
    body = {"name": "rack", **pairs("metadata", {"availability_zone": "az1"}), "hosts": "cmp-00\ncmp-01"}
    browser.post(reverse("admin:scheduling_aggregate_add"), body)
    assert set(AggregateHost.objects.values_list("aggregate__name", "host")) == {("rack", "cmp-00"), ("rack", "cmp-01")}


def test_aggregate_is_changed_through_services(browser: Client) -> None:
    fleet(2)
    made = aggregate_create(name="rack", metadata={"old": "1"})
    aggregate_host_add(aggregate_id=made.pk, host="cmp-00")
    body = {"name": "rack", **pairs("metadata", {"new": "2"}), "hosts": "cmp-01"}
    browser.post(reverse("admin:scheduling_aggregate_change", args=[made.pk]), body)
    assert Aggregate.objects.get().metadata == {"new": "2"}
    assert list(AggregateHost.objects.values_list("host", flat=True)) == ["cmp-01"]


def test_aggregate_with_hosts_is_not_deleted(browser: Client) -> None:
    fleet(1)
    made = aggregate_create(name="rack")
    aggregate_host_add(aggregate_id=made.pk, host="cmp-00")
    browser.post(reverse("admin:scheduling_aggregate_delete", args=[made.pk]), {"post": "yes"})
    assert Aggregate.objects.filter(pk=made.pk).exists()


def test_refused_aggregate_keeps_what_was_typed(browser: Client) -> None:
    fleet(1)
    first = aggregate_create(name="first", metadata={"availability_zone": "az1"})
    aggregate_host_add(aggregate_id=first.pk, host="cmp-00")
    second = aggregate_create(name="second", metadata={"availability_zone": "az2"})
    body = {"name": "typed", **pairs("metadata", {"availability_zone": "az2", "mine": "1"}), "hosts": "cmp-00"}
    page = browser.post(reverse("admin:scheduling_aggregate_change", args=[second.pk]), body)
    assert page.status_code == 200
    form = page.context["adminform"].form
    assert "is in availability zone az1" in str(form.errors)
    assert (form["name"].value(), form["hosts"].value()) == ("typed", "cmp-00")
    assert "mine" in page.content.decode()
    second.refresh_from_db()
    assert second.name == "second"
