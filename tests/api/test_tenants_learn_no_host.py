"""Members and readers learn the name of no host: in no answer of the API, on no page, by no filter and by no ordering.

The routes are those of the resolver, so that a new one is walked as well.
"""

import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState, StateReason
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.models import SchedulingDecision
from servers.catalog.services.server_group import server_group_create
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import Instance, InstanceFault
from servers.repair.services.power_sync import power_states_sync
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, SECOND = "aa-planted-hypervisor", "zz-planted-hypervisor"
NOBODYS = "no-such-host"
"""There are instances on the first host, so a filter that looked at hosts would tell it from this one."""
NOT_BY_GET, ENOUGH = 405, 5
"""A route that is not to be read answers so before it looks which row is meant: it is asked once."""
PLANTED = re.compile("(?:aa|zz)-planted")
ORDERINGS = ("host", "compute_node_uuid", "instances__host", "service__host", "decision_id", "hypervisor_hostname")
TENANTS = ("member", "reader")
# The longest walks: what a reader sees, a member sees too.
WALKERS = ("member", pytest.param("reader", marks=pytest.mark.long))
SAMPLES = {"slug": "zh-hans", "uuid": str(uuid.UUID(int=10)), "str": "x", "int": "1"}
"""What a parameter of a page may be besides the ids of what is there."""


@pytest.fixture
@remembered
def who() -> world.People:
    """An instance on each of two hosts, one that failed on both, one that finds no host, one without a row."""
    found = world.cloud(FIRST, SECOND)
    group = server_group_create(caller=found.member, name="apart", policy="anti-affinity")
    for number in range(2):
        world.active(found.member, f"vm-{number}", hints={"group": str(group.pk)})
    failed = world.create(found.member, "retried")[0]
    for _ in range(2):
        world.pump()
        world.fail_build(Instance.objects.get(pk=failed.pk).host)
    world.pump()
    instance_schedule_again(instance_id=failed.pk, caller=found.member)
    world.pump()
    world.flavor("huge", root_gib=5000)
    world.create(found.member, "no-room", flavor="huge")
    world.pump()
    InstanceFault.objects.create(
        instance_uuid=Instance.objects.get(name="no-room").pk, code=500, message="x", step="spawning", host=FIRST
    )
    world.create(found.admin, "forced", availability_zone=f"nova:{SECOND}")
    world.pump()
    aggregate_host_add(aggregate_id=aggregate_create(name="rack", metadata={"rack": "7"}).pk, host=FIRST)
    _what_guests_do(found.member)
    world.create(found.member, "pending")
    return found


def _what_guests_do(owner: Caller) -> None:
    """One guest crashed, of one the watchdog fired, one stopped by itself: as the host's agent says it."""
    did = {
        "crashed": GuestFacts(PowerState.CRASHED, reason=StateReason.CRASHED),
        "panicked": GuestFacts(PowerState.CRASHED, reason=StateReason.PANICKED),
        "bitten": replace(world.RUNNING, watchdog_fired=2),
        "full": GuestFacts(PowerState.PAUSED, reason=StateReason.IO_ERROR, details="vda: no space left"),
        "off": world.OFF,
    }
    for name, facts in did.items():
        one = world.active(owner, name)
        assert one.host in (FIRST, SECOND)
        power_states_sync(host=one.host, guests={one.pk: facts})
    world.pump()


def _patterns(entries: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    for entry in entries:
        here = prefix + str(entry.pattern).replace("^", "").replace("$", "").replace(r"\Z", "")
        if isinstance(entry, URLResolver):
            yield from _patterns(entry.url_patterns, here)
        else:
            yield here


def _paths(prefix: str) -> list[str]:
    found = {path for path in _patterns(get_resolver().url_patterns) if path.startswith(prefix)}
    # Tenants come to none of these: a role, a token or a secret of their own guards them.
    others = ("/admin/", "/placement", "/metrics", "/agent/")
    return sorted(path for path in found if not path.startswith(others) and "?:" not in path)


def _is_page(path: str) -> bool:
    return not path.startswith("/api/")


PARAMETER = re.compile(r"\(\?P<\w+>(?:\[[^\]]*\]|[^()\[\]])*\)|<(\w+):(\w+)>")


def _names_of(body: Any) -> list[str]:
    """What the rows of a list are called in the address of one."""
    rows = body.get("results", []) if isinstance(body, dict) else body
    keys = ("id", "uuid", "instance_uuid", "name", "host", "consumer_uuid")
    names = [str(row[key]) for row in rows if isinstance(row, dict) for key in keys if row.get(key)]
    return list(dict.fromkeys(names))


def _addresses(client: Any, path: str, lists: dict[str, list[str]]) -> list[str]:
    """The addresses that a route stands for, for all rows an admin finds in its list; `lists` are those read before."""
    match = PARAMETER.search(path)
    if match is None:
        return [path]
    if (above := path[: match.start()]) not in lists:
        answer = client.get(above, {"all_projects": 1} if above == "/api/instances/" else {})
        lists[above] = _names_of(answer.json()) if answer.status_code == 200 else []
    return [PARAMETER.sub(name, path) for name in lists[above]]


def _page_addresses(path: str) -> list[str]:
    """The addresses that a page's route stands for: all instances, all decisions, both hosts, and what is not there."""
    parameter = PARAMETER.search(path)
    if parameter is None:
        return [path]
    kind, name = parameter.groups()
    rows = {"instance_id": Instance, "decision_id": SchedulingDecision}.get(name)
    there = [FIRST, SECOND] if kind != "uuid" else rows.objects.values_list("pk", flat=True) if rows else ()
    return [PARAMETER.sub(str(one), path) for one in (*there, SAMPLES[kind])]


def _browser(caller: Caller) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=caller.user_id))
    return client


def _hidden(text: str, *, but: str = "") -> list[str]:
    """Where a planted name stands in an answer, apart from the words that the caller sent itself."""
    text = text.replace(but, "") if but else text
    return [text[max(0, at.start() - 80) : at.end() + 40] for at in PLANTED.finditer(text)]


@pytest.mark.parametrize("person", WALKERS)
def test_no_answer_of_the_api_names_a_host(person: str, who: world.People) -> None:
    admin, tenant = world.client_of(who.admin), world.client_of(getattr(who, person))
    opened, named_to_admins, found = 0, 0, {}
    lists: dict[str, list[str]] = {}
    for path in _paths("/api/"):
        for address in _addresses(admin, path, lists):
            answer = tenant.get(address)
            opened += answer.status_code == 200
            text = "" if answer.streaming else answer.content.decode()
            asked = next((name for name in (FIRST, SECOND) if name in address), "")
            if places := _hidden(text, but=asked):
                found[address] = places
            if answer.status_code == NOT_BY_GET:
                break
            if answer.status_code == 200 and not answer.streaming and named_to_admins <= ENOUGH:
                named_to_admins += bool(_hidden(admin.get(address).content.decode()))
    assert found == {}
    assert opened > 30
    assert named_to_admins > ENOUGH, "the same addresses name hosts to admins, so the walk looks at the right things"


@pytest.mark.parametrize("person", WALKERS)
def test_no_page_names_a_host(person: str, who: world.People) -> None:
    browser, opened, found = _browser(getattr(who, person)), 0, {}
    for path in filter(_is_page, _paths("/")):
        for address in _page_addresses(path):
            answer = browser.get(address)
            opened += answer.status_code == 200
            asked = next((name for name in (FIRST, SECOND) if name in address), "")
            if places := _hidden(answer.content.decode(), but=asked):
                found[address] = places
            if answer.status_code == NOT_BY_GET:
                break
    assert found == {}
    assert opened > 10


@pytest.mark.parametrize("person", TENANTS)
def test_seed_of_a_decision_is_shown_to_admins_only(person: str, who: world.People) -> None:
    decision = SchedulingDecision.objects.filter(outcome="selected").latest("created_at")
    tenant, admin = getattr(who, person), who.admin
    for path in ("/api/decisions/", f"/api/decisions/{decision.pk}/"):
        assert (
            '"seed"' in world.client_of(tenant).get(path).text,
            '"seed"' in world.client_of(admin).get(path).text,
        ) == (
            False,
            True,
        )
    page = f"/decisions/{decision.pk}/"
    assert (
        str(decision.seed) in _browser(tenant).get(page).text,
        str(decision.seed) in _browser(admin).get(page).text,
    ) == (
        False,
        True,
    )


def _lists(client: Any) -> dict[str, set[str]]:
    """The lists of the API with the names of all their filters, those for operators among them."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    found = {}
    for path, verbs in schema["paths"].items():
        if "get" in verbs and "{" not in path and client.get(path).status_code == 200:
            found[path] = {one["name"] for one in verbs["get"].get("parameters", ()) if one["in"] == "query"}
    return found


def _shown(answer: Any) -> tuple[int, list[str]]:
    """The ids in an answer, in their order. The answer to an error has none but that of the request."""
    return answer.status_code, [] if answer.status_code >= 400 else re.findall(
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", answer.content.decode()
    )


@pytest.mark.long
@pytest.mark.parametrize("person", TENANTS)
def test_no_filter_of_the_api_tells_one_host_from_another(person: str, who: world.People) -> None:
    tenant, telling = world.client_of(getattr(who, person)), []
    lists = _lists(tenant)
    assert {"host", "refused_host"} <= set().union(*lists.values())
    for path, names in lists.items():
        telling += [
            (path, name)
            for name in names | {"host", "refused_host", "node", "instances__host"}
            if _shown(tenant.get(path, {name: FIRST})) != _shown(tenant.get(path, {name: NOBODYS}))
        ]
    assert telling == []


@pytest.mark.long
def test_no_filter_of_a_page_tells_one_host_from_another(who: world.People) -> None:
    browser, telling = _browser(who.member), []
    for path in filter(_is_page, _paths("/")):
        if PARAMETER.search(path) or browser.get(path).status_code != 200:
            continue
        telling += [
            (path, name)
            for name in ("host", "refused_host", "node", "q")
            if _shown(browser.get(path, {name: FIRST})) != _shown(browser.get(path, {name: NOBODYS}))
        ]
    assert telling == []


@pytest.mark.long
@pytest.mark.parametrize("person", TENANTS)
def test_no_list_of_the_api_is_ordered_by_host(person: str, who: world.People) -> None:
    tenant = world.client_of(getattr(who, person))

    def tells(path: str, name: str) -> bool:
        return _shown(tenant.get(path, {"ordering": name})) != _shown(tenant.get(path, {"ordering": f"-{name}"}))

    assert [(path, name) for path in _lists(tenant) for name in ORDERINGS if tells(path, name)] == []
