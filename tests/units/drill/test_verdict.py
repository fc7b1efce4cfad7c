"""What the drill calls a violation."""

from typing import Any

import pytest

from tests.drill.guests import HostGuests
from tests.drill.verdict import guest_faults, promise_faults, secret_faults, under_way

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"
PORT = "33333333-3333-4333-8333-333333333333"


def rows(**changes: Any) -> dict[str, Any]:
    one = {"id": ONE, "name": "vm", "host": "h1", "vm_state": "active", "task_state": "", "power_state": "running"}
    port = {"id": PORT, "host": "h1", "instance_uuid": ONE}
    return {
        "instances": [{**one, **changes}], "work": [], "requests": [], "faults": {}, "networks": [], "ports": [port],
    }  # fmt: skip


def host(name: str = "h1", **facts: Any) -> HostGuests:
    return HostGuests(name, **{"domains": [(ONE, True)], "directories": [ONE], "taps": [PORT], **facts})


def test_guest_that_runs_where_the_database_has_it_is_in_order() -> None:
    assert guest_faults(rows(), [host(qemu=[ONE])]) == []
    assert guest_faults(rows(vm_state="stopped"), [host(domains=[(ONE, False)])]) == []


@pytest.mark.parametrize(
    ("changes", "found", "words"),
    [
        ({}, {"domains": []}, "has no domain"),
        ({}, {"domains": [(ONE, False)]}, "does not run"),
        ({"vm_state": "stopped"}, {}, "is stopped and runs"),
        ({"host": ""}, {"directories": []}, "the database has it on no host"),
        ({}, {"domains": [(ONE, True), (TWO, True)]}, f"has a domain {TWO}"),
        ({}, {"directories": [ONE, TWO]}, f"keeps files of {TWO}"),
        ({}, {"qemu": [ONE, ONE]}, "runs 2 QEMU processes"),
        ({}, {"qemu": [ONE, TWO]}, "QEMU runs that libvirt does not know"),
        ({}, {"deleted_files": [f"{ONE}: disk (deleted)"]}, "files that were made anew under it"),
        ({}, {"is_known": False}, "does not tell"),
        ({}, {"taps": []}, f"its port {PORT} has no tap"),
        ({}, {"taps": [PORT, TWO]}, f"keeps the tap of port {TWO}"),
    ],
)
def test_difference_between_guests_and_instances_is_a_violation(
    changes: dict[str, Any], found: dict[str, Any], words: str
) -> None:
    faults = guest_faults(rows(**changes), [host(**found)])
    assert len(faults) == 1 and words in faults[0]


CLAIM = {"address": "0000:81:10.0", "owner_uuid": ONE, "host": "h1"}


@pytest.mark.parametrize(
    ("claims", "devices", "words"),
    [
        ([CLAIM], {ONE: ["0000:81:10.0"]}, ""),
        ([CLAIM], {ONE: []}, "['0000:81:10.0'] are claimed for it"),
        ([], {ONE: ["0000:81:10.0"]}, f"{ONE} has ['0000:81:10.0'] of h1, where [] are claimed"),
        ([{**CLAIM, "owner_uuid": TWO}], {ONE: []}, f"are claimed for {TWO}, which is not there"),
    ],
)
def test_devices_of_guests_are_those_that_are_claimed(
    claims: list[dict[str, str]], devices: dict[str, list[str]], words: str
) -> None:
    faults = guest_faults({**rows(), "devices": claims}, [host(devices=devices)])
    assert len(faults) == bool(words) and all(words in fault for fault in faults)


def test_guest_that_runs_on_two_hosts_is_a_violation() -> None:
    faults = guest_faults(rows(), [host(), host("h2")])
    assert f"{ONE} runs 2 times" in faults


def test_what_the_api_promised_must_have_come_to_pass() -> None:
    assert promise_faults(rows(), [ONE], []) == []
    assert promise_faults(rows(), [ONE, TWO], []) == [f"{TWO} was accepted by the API and is nowhere"]
    assert promise_faults(rows(), [ONE], [ONE]) == [f"{ONE} was deleted by the API and is still there"]


def test_instance_in_a_task_is_under_way() -> None:
    assert under_way(rows()) == []
    assert len(under_way(rows(task_state="powering-off"))) == 1


def test_bulk_job_that_has_not_ended_is_under_way() -> None:
    job = {"id": "j", "kind": "volume", "action": "detach"}
    assert under_way({**rows(), "bulk_jobs": [job]}) == ["bulk job j (detach volume) has not ended"]


def test_host_whose_networks_are_not_in_force_is_under_way() -> None:
    late = {"host": "h1", "wanted_revision": 5, "applied_revision": 3}
    assert under_way({**rows(), "networks": [late]}) == ["networks of h1 are those of revision 3, not yet 5"]


def test_password_that_outlives_its_work_is_a_violation() -> None:
    facts = rows() | {"secrets": [ONE, TWO], "work": [{"id": TWO}]}
    assert secret_faults(facts) == [f"the secret of work {ONE} is left, which has ended"]
