"""select_destinations tells that it began and how it ended, in Nova's form, with its decision or not at all."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from controlplane.notifications.models import Notification
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.request.schedule_request import GroupSnapshot
from scheduling.errors import NoValidHost
from scheduling.models import SchedulingDecision
from tests.fixtures.queries import undisturbed_queries
from tests.services.scheduling.fleet.fleet_world import PROJECT, fleet, request

pytestmark = pytest.mark.django_db
START, END, ERROR = (f"scheduler.select_destinations.{phase}" for phase in ("start", "end", "error"))


@pytest.fixture(autouse=True)
def emitted(notifying: Any) -> None:
    notifying(EVENTS=("scheduler.*",))


def rows() -> list[Notification]:
    return list(Notification.objects.order_by("happened_at"))


def test_success_tells_start_and_end_with_the_request(notifying: Any) -> None:
    fleet(2)
    asked = request(2, ignore_hosts=("cmp-00",), group=GroupSnapshot("g", "affinity", members=("m",)))
    destinations_select(request=asked, inputs=scheduling_inputs())
    assert [row.event_type for row in rows()] == [START, END]
    for row in rows():
        assert (row.request_id, row.project_id, row.priority) == (asked.request_id, PROJECT, "INFO")
        assert row.publisher_id.startswith("nova-scheduler:")
        assert row.payload["nova_object.name"] == "RequestSpecPayload"
        assert row.payload["nova_object.version"] == "1.1"
    data = rows()[0].payload["nova_object.data"]
    assert (data["instance_uuid"], data["num_instances"]) == (asked.instance_uuids[0], 2)
    assert data["ignore_hosts"] == ["cmp-00"]
    assert data["flavor"]["nova_object.data"]["memory_mb"] == 1024
    assert data["instance_group"]["nova_object.data"]["policies"] == ["affinity"]
    assert rows()[0].happened_at < rows()[1].happened_at


def test_failure_tells_start_and_error_with_the_verdict() -> None:
    fleet(1)
    with pytest.raises(NoValidHost):
        destinations_select(request=request(memory_mib=99999), inputs=scheduling_inputs())
    assert [(row.event_type, row.priority) for row in rows()] == [(START, "INFO"), (ERROR, "ERROR")]
    data = rows()[1].payload["nova_object.data"]
    reason = data["reason"]["nova_object.data"]
    assert reason["exception"] == "NoValidHost"
    assert reason["exception_message"] == SchedulingDecision.objects.get().verdict
    assert data["request_spec"]["nova_object.name"] == "RequestSpecPayload"


def test_only_what_is_wanted_is_written(notifying: Any) -> None:
    notifying(EVENTS=("*.error",))
    fleet(1)
    destinations_select(request=request(), inputs=scheduling_inputs())
    assert rows() == []


def test_decision_that_is_not_saved_tells_nothing() -> None:
    fleet(1)
    broken = replace(request(), project_id="no uuid")
    with pytest.raises(ValueError, match="UUID"):
        destinations_select(request=broken, inputs=scheduling_inputs())
    assert rows() == []


def test_notifications_cost_one_statement_more(notifying: Any) -> None:
    fleet(30)
    counts = []
    for events in ((), (), ("*",)):
        notifying(EVENTS=events)
        call = partial(destinations_select, request=request(), inputs=scheduling_inputs())
        counts.append(undisturbed_queries(call, without="SAVEPOINT"))
    assert counts[2] == counts[1] + 1
