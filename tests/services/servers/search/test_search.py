"""One search: everybody finds what is his by name, id, request id and address, and nothing of anybody else."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller
from controlplane.infra.db import db_now
from controlplane.kernel.errors import Invalid
from servers.models import Instance, InstanceAction
from servers.search.selectors import MAX_OF_A_KIND, search
from tests.worlds.cloud import People, cloud, create, host

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> People:
    return cloud("h1")


def rows(caller: Caller, *names: str, **more: object) -> list[Instance]:
    """Instances of these names, cheaper than built ones."""
    columns = {"flavor": {}, "vcpus": 1, "memory_mib": 1, "vm_state": "active", **more}
    made = [Instance(name=one, project_id=caller.project_id, user_id=caller.user_id, **columns) for one in names]
    return Instance.objects.bulk_create(made)


def names(caller: Caller, text: str, kind: str = "instance") -> list[str]:
    return [one.name for one in search(caller=caller, text=text).found if one.kind == kind]


def test_whoever_may_see_it_finds_it_by_name_and_by_every_part_of_its_id(people: People) -> None:
    one = rows(people.member, "web-1")[0]
    for text in ("web-1", "EB-", str(one.pk), str(one.pk)[:8], one.pk.hex):
        for caller in (people.admin, people.member, people.reader):
            assert names(caller, text) == ["web-1"], text
        assert names(people.stranger, text) == []


def test_only_administrators_are_told_whose_it_is(people: People) -> None:
    rows(people.member, "web-1")
    assert [one.project for one in search(caller=people.admin, text="web-1").found] == ["demo"]
    assert [one.project for one in search(caller=people.member, text="web-1").found] == [""]


def test_what_is_called_exactly_so_comes_first_then_what_begins_so(people: People) -> None:
    rows(people.member, "a-web", "web-10", "web", "the web")
    assert names(people.member, "web") == ["web", "web-10", "a-web", "the web"]


def test_a_request_id_finds_all_that_the_request_touched(people: People) -> None:
    made, acted = rows(people.member, "made", request_id="req-1")[0], rows(people.member, "acted")[0]
    InstanceAction.objects.create(instance_uuid=acted.pk, action="stop", request_id="req-1", started_at=db_now())
    AuditLogEntry.objects.create(
        action="instance.stop", user_name="mary", door="page", request_id="req-1", project_id=made.project_id
    )

    assert names(people.member, "req-1") == ["acted", "made"]
    assert names(people.member, "req-1", "audit_log") == ["instance.stop"]
    assert names(people.stranger, "req-1") == []
    assert names(people.stranger, "req-1", "audit_log") == []
    assert names(people.member, "req-") == [], "only whole ids of requests are looked for, by an index"


def test_an_address_finds_its_instance(people: People) -> None:
    rows(people.member, "web-1", addresses={"default": ["10.0.0.5"]})
    assert names(people.member, "10.0.0.5") == ["web-1"]
    assert names(people.member, "10.0.") == ["web-1"]
    assert names(people.stranger, "10.0.0.5") == []


def test_what_waits_for_a_host_is_found_too(people: People) -> None:
    one = create(people.member, "waits")[0]
    assert names(people.member, "waits") == ["waits"]
    assert names(people.member, str(one.pk)) == ["waits"]
    assert names(people.stranger, "waits") == []


def test_hosts_and_people_are_for_administrators(people: People) -> None:
    assert names(people.admin, "h1", "host") == ["h1"]
    assert names(people.member, "h1", "host") == []
    assert names(people.admin, "mary", "user") == ["mary"]
    assert names(people.member, "mary", "user") == []
    assert names(people.member, "m1.tiny", "flavor") == ["m1.tiny"]


def test_a_search_shows_a_few_of_each_kind_and_says_where_there_are_more(people: People) -> None:
    rows(people.member, *(f"web-{number}" for number in range(MAX_OF_A_KIND + 3)))
    found = search(caller=people.member, text="web")
    assert len(found.found) == MAX_OF_A_KIND
    assert found.cut == {"instance"}


@pytest.mark.parametrize("text", ["web", "deadbeef", "req-1", "10.0.0.1", "100%", "it's", "fe80::", "a\x00b", "_%_"])
def test_every_text_is_a_search_that_costs_the_same_however_much_there_is(people: People, text: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            search(caller=people.admin, text=text)
        return len(seen)

    rows(people.member, "web-1", "deadbeef")
    few = queries()
    rows(people.member, *(f"web-{number}" for number in range(30)), *(f"deadbeef-{number}" for number in range(30)))
    for number in range(5):
        host(f"web-host-{number}")
    assert queries() <= few + 1  # names of projects are read once there are any to name


@pytest.mark.parametrize("text", ["", "a", " a ", "\x00\x00\x00", "x" * 256])
def test_what_says_too_little_or_too_much_is_refused(people: People, text: str) -> None:
    with pytest.raises(Invalid, match="2 to 255") as refused:
        search(caller=people.member, text=text)
    assert refused.value.field == "q"
