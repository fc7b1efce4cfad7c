"""`/metrics`: who may read it, what it says, what it costs."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings

from controlplane.dashboard.watching.metrics import metrics_text
from controlplane.identity.models import User
from controlplane.identity.services.tokens import token_issue_own
from controlplane.infra.db import now_plus
from controlplane.work.models import NamedLease, Work
from servers.instances.selectors.metrics import MAX_NAMES
from servers.models import InstanceAction, InstanceActionEvent
from tests.worlds.cloud import People, active, cloud, create, fail_build, order, pump

TOKEN = "a-token-of-the-scraper"
LINE = re.compile(r'([a-zA-Z_:][\w:]*)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+\})? (\S+)')

Setting = Callable[..., Any]
pytestmark = pytest.mark.django_db
# Work is done here as a process does it, which closes its connection.
working = pytest.mark.django_db(transaction=True)
ROLES = ("admin", "member", "reader", "stranger")


@pytest.fixture
def people() -> People:
    """The small cloud with two hosts."""
    return cloud("h1", "h2")


@pytest.fixture
def setting() -> Iterator[Setting]:
    """Sets metrics settings for one test; nothing is kept between answers unless it says so."""
    undo = []

    def use(**ours: Any) -> None:
        changed = override_settings(KILONOVA={**django_settings.KILONOVA, **ours})
        changed.enable()
        undo.append(changed)

    use(METRICS_TOKEN=TOKEN, METRICS_ALLOW=(), METRICS_CACHE_S=0.0)
    yield use
    for changed in reversed(undo):
        changed.disable()


def read(client: Client | None = None, token: str | None = None, **meta: Any) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return (client or Client()).get("/metrics", headers=headers, **meta)


def values() -> dict[str, float]:
    """The page as {name and labels: value}."""
    lines = [line for line in metrics_text().splitlines() if not line.startswith("#")]
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


def test_token_opens_the_page_in_prometheus_format(setting: Setting) -> None:
    answer = read(token=TOKEN)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("sent", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "tökén"])
def test_wrong_or_missing_token_is_refused_with_a_challenge(setting: Setting, sent: str | None) -> None:
    answer = read(token=sent)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert b"METRICS_TOKEN" in answer.content


def test_other_scheme_with_the_token_is_refused(setting: Setting) -> None:
    assert Client().get("/metrics", headers={"Authorization": f"Basic {TOKEN}"}).status_code == 401


def test_nobody_may_read_unless_a_setting_says_so(setting: Setting) -> None:
    setting(METRICS_TOKEN="")
    answer = read(token="", REMOTE_ADDR="127.0.0.1")
    assert answer.status_code == 403
    assert b"METRICS_ALLOW" in answer.content


@working
def test_login_or_api_token_of_any_role_opens_nothing(setting: Setting, people: People) -> None:
    for caller in (getattr(people, role) for role in ROLES):
        client = Client()
        client.force_login(User.objects.get(pk=caller.user_id))
        token = token_issue_own(caller=caller).token
        assert read(client).status_code == 401
        assert read(token=token).status_code == 401
        assert Client().get("/metrics", headers={"X-Auth-Token": token}).status_code == 401


@pytest.mark.parametrize("address", ["10.1.2.3", "::1", "::ffff:10.1.2.3"])
def test_allowed_address_needs_no_token(setting: Setting, address: str) -> None:
    setting(METRICS_ALLOW=("10.0.0.0/8", "::1"))
    assert read(REMOTE_ADDR=address).status_code == 200


@pytest.mark.parametrize("address", ["11.1.2.3", "::2", "", "unix:"])
def test_other_address_is_refused(setting: Setting, address: str) -> None:
    setting(METRICS_ALLOW=("10.0.0.0/8", "::1"), METRICS_TOKEN="")
    assert read(REMOTE_ADDR=address).status_code == 403


def test_request_through_an_unknown_proxy_has_no_address(setting: Setting) -> None:
    setting(METRICS_ALLOW=("127.0.0.1",), METRICS_TOKEN="")
    assert read(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="203.0.113.9").status_code == 403


def test_trusted_proxy_tells_the_address(setting: Setting) -> None:
    setting(METRICS_ALLOW=("10.0.0.0/8",), METRICS_TOKEN="", TRUSTED_PROXIES=1)
    assert read(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="10.9.9.9").status_code == 200
    assert read(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="10.9.9.9, 203.0.113.9").status_code == 403


def test_page_takes_no_post(setting: Setting) -> None:
    assert Client().post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405


@working
def test_page_is_well_formed_and_has_all_families(setting: Setting, people: People) -> None:
    active(people.member)
    text = metrics_text()
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line), line
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert families >= {
        "kilonova_queue_age_seconds",
        "kilonova_work_open",
        "kilonova_work_open_by_attempts",
        "kilonova_work_leases",
        "kilonova_work_ended",
        "kilonova_decisions",
        "kilonova_claims_lost",
        "kilonova_builds",
        "kilonova_step_duration_seconds",
        "kilonova_lead_seconds",
        "kilonova_hosts",
        "kilonova_hosts_by_agent_version",
        "kilonova_host_clock_skew_max_seconds",
        "kilonova_hosts_clock_off",
        "kilonova_host_metrics_oldest_seconds",
        "kilonova_hosts_without_fresh_metrics",
        "kilonova_volumes",
        "kilonova_volume_pool_gib",
        "kilonova_volume_pool_problems",
        "kilonova_volume_pool_sightings",
    }


@working
def test_waiting_work_is_counted_and_has_an_age(setting: Setting, people: People) -> None:
    create(people.member)
    Work.objects.update(created_at=now_plus(-50))
    found = values()
    assert found['kilonova_work_open{kind="schedule_and_build",state="waiting"}'] == 1
    assert found['kilonova_work_open_by_attempts{attempts="0"}'] == 1
    assert 50 <= found['kilonova_queue_age_seconds{queue="conductor"}'] < 80
    assert found['kilonova_queue_age_seconds{queue="compute"}'] == 0


@working
def test_held_and_expired_leases_are_told_apart(setting: Setting, people: People) -> None:
    create(people.member)
    pump()
    order(Work.objects.get(kind="build").queue.removeprefix("compute."))
    assert values()['kilonova_work_leases{state="held"}'] == 1
    Work.objects.filter(kind="build").update(lease_until=now_plus(-5))
    found = values()
    assert (found['kilonova_work_leases{state="held"}'], found['kilonova_work_leases{state="expired"}']) == (0, 1)
    assert found['kilonova_queue_age_seconds{queue="compute"}'] > 0


@working
def test_ended_work_builds_and_decisions_are_counted_by_outcome(setting: Setting, people: People) -> None:
    active(people.member)
    found = values()
    assert found['kilonova_work_ended{kind="build",outcome="done"}'] == 1
    assert found['kilonova_work_ended_attempts{kind="build"}'] == 1
    assert found['kilonova_builds{outcome="active"}'] == 1
    assert found['kilonova_decisions{outcome="selected"}'] == 1
    assert found["kilonova_claims_lost"] == 0
    assert found['kilonova_hosts{state="up"}'] == 2


@working
def test_failed_attempt_is_told_as_rescheduled(setting: Setting, people: People) -> None:
    create(people.member)
    pump()
    fail_build(Work.objects.get(kind="build").queue.removeprefix("compute."))
    assert values()['kilonova_builds{outcome="rescheduled"}'] == 1


@working
def test_what_ended_before_the_window_is_not_counted(setting: Setting, people: People) -> None:
    active(people.member)
    Work.objects.filter(finished_at__isnull=False).update(finished_at=now_plus(-301))
    assert values()['kilonova_work_ended{kind="build",outcome="done"}'] == 0


@working
def test_steps_are_a_summary_by_name(setting: Setting, people: People) -> None:
    active(people.member)
    action = InstanceAction.objects.latest("id")
    for seconds in range(1, 101):
        InstanceActionEvent.objects.create(
            action=action, name="spawning", attempt=seconds, started_at=now_plus(-seconds),
            finished_at=now_plus(0), result="success",
        )  # fmt: skip
    found = values()
    assert found['kilonova_step_duration_seconds{step="spawning",quantile="0.5"}'] == pytest.approx(50, abs=1)
    assert found['kilonova_step_duration_seconds{step="spawning",quantile="0.95"}'] == pytest.approx(95, abs=1)
    assert found['kilonova_step_duration_seconds_count{step="spawning"}'] == 100
    assert found['kilonova_steps_ended{step="spawning",result="success"}'] == 100


@working
def test_names_that_agents_make_up_do_not_grow_the_page(setting: Setting, people: People) -> None:
    active(people.member)
    action = InstanceAction.objects.latest("id")
    for number in range(60):
        InstanceActionEvent.objects.create(
            action=action, name=f"made up {number}", started_at=now_plus(-1), finished_at=now_plus(0)
        )
    Work.objects.update(kind="made up")
    found = values()
    steps = {name for name in found if name.startswith("kilonova_step_duration_seconds_count")}
    assert len(steps) == MAX_NAMES + 1
    assert 'kilonova_step_duration_seconds_count{step="other"}' in steps
    assert not any('kind="made up"' in name for name in found)


@working
def test_leases_of_reconciler_and_conductor_are_told(setting: Setting, people: People) -> None:
    NamedLease.objects.create(name="reconcile", owner="a:1", until=now_plus(6))
    NamedLease.objects.create(name="conductor-canary", owner="a:2", until=now_plus(-60))
    found = values()
    assert 0 < found['kilonova_lead_seconds{lease="reconciler"}'] <= 6
    assert -90 < found['kilonova_lead_seconds{lease="conductor"}'] <= -60


@working
def test_page_names_no_host_project_or_person(setting: Setting, people: People) -> None:
    instance = active(people.member)
    text = metrics_text()
    for secret in (instance.host, str(instance.project_id), str(instance.pk), people.member.username, "demo"):
        assert f'"{secret}"' not in text


@working
def test_number_of_queries_does_not_grow(setting: Setting, people: People) -> None:
    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            metrics_text()
        return len(queries)

    before = cost()
    for number in range(3):
        active(people.member, f"vm-{number}")
    create(people.member, "waits")
    assert cost() == before <= 18


def test_answer_is_kept_for_as_long_as_the_setting_says(setting: Setting) -> None:
    setting(METRICS_CACHE_S=600.0)
    read(token=TOKEN)
    with CaptureQueriesContext(connection) as queries:
        assert read(token=TOKEN).status_code == 200
    assert len(queries) == 0
