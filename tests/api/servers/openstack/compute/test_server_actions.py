"""POST /servers/{id}/action: each action of the table, its versions, its bodies, and what no driver here can do."""

from typing import Any

import pytest

from controlplane.work.models import Work
from servers.models import ConsoleLog, Image, Instance
from servers.networks.domain.names import PortOwner
from servers.openstack.compute.views.server_actions import ACTIONS
from tests.worlds import cloud as world
from tests.worlds import networks
from tests.worlds.compute_door import NEWEST, ComputeClient, fault_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


@pytest.fixture
def server(who: world.People) -> Instance:
    return world.active(who.member)


def _state(server: Instance, **columns: Any) -> None:
    Instance.objects.filter(pk=server.pk).update(**columns)


@pytest.mark.parametrize(
    ("name", "value", "state", "task"),
    [
        ("os-stop", None, "active", "powering-off"),
        ("os-stop", {}, "active", "powering-off"),
        ("os-start", None, "stopped", "powering-on"),
        ("reboot", {"type": "SOFT"}, "active", "rebooting"),
        ("reboot", {"type": "Hard"}, "active", "rebooting_hard"),
        ("pause", None, "active", "pausing"),
        ("unpause", None, "paused", "unpausing"),
        ("suspend", None, "active", "suspending"),
        ("resume", None, "suspended", "resuming"),
        ("unrescue", None, "rescued", "unrescuing"),
        ("restore", None, "soft-delete", "restoring"),
        ("shelve", None, "active", "shelving"),
        ("createImage", {"name": "copy"}, "active", "image_snapshot"),
        ("createBackup", {"name": "b", "backup_type": "daily", "rotation": "2"}, "active", "image_backup"),
    ],
)
def test_actions_that_a_host_does(
    server: Instance, who: world.People, name: str, value: Any, state: str, task: str
) -> None:
    _state(server, vm_state=state)
    member = ComputeClient(who.member, minor=NEWEST)
    assert member.act(server.pk, name, value).status_code == 202
    assert world.instance_of(server.pk).task_state == task
    if name not in ("reboot",):
        fault_of(member.act(server.pk, name, value), 409, "conflictingRequest")


def test_wrong_state_is_409_and_says_why(server: Instance, who: world.People) -> None:
    message = fault_of(ComputeClient(who.member).act(server.pk, "os-start"), 409, "conflictingRequest")
    assert "active" in message and "stopped" in message


def test_lock_with_a_reason_and_unlock(server: Instance, who: world.People) -> None:
    member, newest = ComputeClient(who.member), NEWEST
    fault_of(member.act(server.pk, "lock", {"locked_reason": "audit"}, minor=72), 400, "badRequest")
    assert member.act(server.pk, "lock", {"locked_reason": "audit"}, minor=newest).status_code == 202
    shown = member.get(f"/servers/{server.pk}", minor=newest)["server"]
    assert (shown["locked"], shown["locked_reason"]) == (True, "audit")
    fault_of(member.act(server.pk, "os-stop"), 409, "conflictingRequest")
    assert member.act(server.pk, "unlock").status_code == 202
    assert member.act(server.pk, "lock", None, minor=newest).status_code == 202


def test_an_image_is_named_by_its_id_or_its_address(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member)
    answer = member.act(server.pk, "createImage", {"name": "copy", "metadata": {"stage": "one"}}, minor=45)
    made = Image.objects.get(pk=answer.json()["image_id"])
    assert (made.name, made.properties["stage"], made.properties["image_type"]) == ("copy", "one", "snapshot")
    other = world.active(who.member, "other")
    answer = member.act(other.pk, "createImage", {"name": "older"}, minor=44)
    older = Image.objects.get(name="older")
    assert (answer.status_code, answer.content) == (202, b"")
    assert answer["Location"] == f"http://testserver/image/v2/images/{older.pk}"


@pytest.mark.parametrize("minor", [1, 54, 57, 74, 75, NEWEST])
def test_rebuild_answers_with_the_server_and_its_password(server: Instance, who: world.People, minor: int) -> None:
    member, image = ComputeClient(who.member, minor=minor), Image.objects.get()
    answer = member.act(server.pk, "rebuild", {"imageRef": str(image.pk), "name": "anew", "metadata": {"a": "b"}})
    assert answer.status_code == 202, answer.content
    shown = answer.json()["server"]
    assert (shown["status"], shown["name"], shown["metadata"]) == ("REBUILD", "anew", {"a": "b"})
    assert len(shown["adminPass"]) >= 12
    assert ("key_name" in shown, "user_data" in shown) == (minor >= 54, minor >= 57)


def test_rebuild_refuses_what_it_cannot_do(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    for asked in ({}, {"imageRef": "none"}, {"imageRef": str(Image.objects.get().pk), "preserve_ephemeral": True}):
        fault_of(member.act(server.pk, "rebuild", asked), 400, "badRequest")


def test_rescue_answers_with_its_password_where_a_config_drive_brings_one(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    fault_of(member.act(server.pk, "rescue", {"rescue_image_ref": "none"}), 400, "badRequest")
    answer = member.act(
        server.pk, "rescue", {"rescue_image_ref": str(Image.objects.get().pk), "adminPass": "Secret-12"}
    )
    assert (answer.status_code, answer.json()) == (200, {"adminPass": "Secret-12"})
    assert world.instance_of(server.pk).task_state == "rescuing"
    made, bare = world.active(who.member), world.active(who.member)
    assert len(member.act(made.pk, "rescue", None).json()["adminPass"]) >= 12
    Instance.objects.filter(pk=bare.pk).update(config_drive=False)
    fault_of(member.act(bare.pk, "rescue", {"adminPass": "Secret-12"}), 400, "badRequest")
    assert member.act(bare.pk, "rescue", None).json() == {}


def test_the_console_log(server: Instance, who: world.People) -> None:
    ConsoleLog.objects.create(instance_uuid=server.pk, output="one\ntwo\nthree")
    reader = ComputeClient(who.reader)
    assert reader.act(server.pk, "os-getConsoleOutput", {}).json() == {"output": "one\ntwo\nthree"}
    for length in (2, "2"):
        assert reader.act(server.pk, "os-getConsoleOutput", {"length": length}).json() == {"output": "two\nthree"}
    assert reader.act(server.pk, "os-getConsoleOutput", {"length": -1}).json() == {"output": "one\ntwo\nthree"}
    fault_of(reader.act(server.pk, "os-getConsoleOutput", {"length": "x"}), 400, "badRequest")


def test_consoles_of_older_versions(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member)
    answer = member.act(server.pk, "os-getVNCConsole", {"type": "novnc"}, minor=5)
    assert set(answer.json()["console"]) == {"type", "url"}
    fault_of(member.act(server.pk, "os-getVNCConsole", {"type": "novnc"}, minor=6), 400, "badRequest")
    fault_of(member.act(server.pk, "os-getSPICEConsole", {"type": "spice-html5"}, minor=5), 400, "badRequest")


def test_force_delete_and_reset_state(server: Instance, who: world.People) -> None:
    admin = ComputeClient(who.admin)
    assert admin.act(server.pk, "os-resetState", {"state": "error"}).status_code == 202
    assert world.instance_of(server.pk).vm_state == "error"
    fault_of(admin.act(server.pk, "os-resetState", {"state": "gone"}), 400, "badRequest")
    assert ComputeClient(who.member).act(server.pk, "forceDelete").status_code == 202
    assert world.instance_of(server.pk).task_state == "deleting"


def test_password_of_a_guest_without_an_agent_is_refused(server: Instance, who: world.People) -> None:
    fault_of(
        ComputeClient(who.member).act(server.pk, "changePassword", {"adminPass": "Secret-12"}),
        409,
        "conflictingRequest",
    )


def test_groups_and_addresses_that_there_are_not_are_404(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member)
    for name in ("addSecurityGroup", "removeSecurityGroup"):
        fault_of(member.act(server.pk, name, {"name": "none"}), 404, "itemNotFound")
    for name in ("addFloatingIp", "removeFloatingIp"):
        fault_of(member.act(server.pk, name, {"address": "192.0.2.1"}, minor=43), 404, "itemNotFound")
        fault_of(member.act(server.pk, name, {"address": "192.0.2.1"}, minor=44), 400, "badRequest")


def test_fixed_addresses_come_and_go(server: Instance, who: world.People) -> None:
    net = networks.network(cidr="10.20.0.0/29")  # of its 5 addresses for guests, 3 are anybody's
    networks.subnet(net, "10.21.0.0/24")
    port = networks.port(net, "h1", address="10.20.0.4", instance_uuid=server.pk, owner=PortOwner.INSTANCE)
    networks.port(net, "h1", address="10.20.0.6")
    member = ComputeClient(who.member, minor=43)
    add, remove = {"networkId": str(net.pk)}, {"address": "10.20.0.4"}
    for _ in range(4):
        assert member.act(server.pk, "addFixedIp", add).status_code == 202
    port.refresh_from_db()
    assert port.addresses == ["10.20.0.4", "10.20.0.2", "10.20.0.3", "10.20.0.5", "10.21.0.2"]
    assert [one.address for one in port.allocations.order_by("pk")] == port.addresses
    fault_of(member.act(server.pk, "addFixedIp", add), 409, "conflictingRequest")
    assert member.act(server.pk, "removeFixedIp", remove).status_code == 202
    port.refresh_from_db()
    assert port.addresses == ["10.20.0.2", "10.20.0.3", "10.20.0.5", "10.21.0.2"]
    refused = {"removeFixedIp": (remove, 400, "badRequest"), "addFixedIp": ({"networkId": "x"}, 404, "itemNotFound")}
    for name, (body, status, fault) in refused.items():
        fault_of(member.act(server.pk, name, body), status, fault)
        fault_of(member.act(server.pk, name, body, minor=44), 400, "badRequest")
    assert member.act(server.pk, "lock").status_code == 202
    fault_of(member.act(server.pk, "removeFixedIp", {"address": "10.21.0.2"}), 409, "conflictingRequest")
    admin = ComputeClient(who.admin, minor=43)
    assert admin.act(server.pk, "removeFixedIp", {"address": "10.21.0.2"}).status_code == 202


def test_crash_dump_is_begun_since_its_version_and_by_members(server: Instance, who: world.People) -> None:
    fault_of(ComputeClient(who.member, minor=16).act(server.pk, "trigger_crash_dump"), 400, "badRequest")
    fault_of(ComputeClient(who.reader, minor=17).act(server.pk, "trigger_crash_dump"), 403, "forbidden")
    member = ComputeClient(who.member, minor=17)
    assert member.act(server.pk, "trigger_crash_dump").status_code == 202
    assert Work.objects.get(subject=server.pk, kind="trigger_crash_dump").state == "waiting"
    _state(server, vm_state="stopped")
    fault_of(member.act(server.pk, "trigger_crash_dump"), 409, "conflictingRequest")


CANNOT = {
    "resize": {"flavorRef": "1"},
    "migrate": None,
    "os-migrateLive": {"host": None, "block_migration": "auto"},
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_no_driver_can_do_is_said_to_be_so(server: Instance, who: world.People, name: str) -> None:
    admin = ComputeClient(who.admin, minor=NEWEST)
    fault_of(admin.act(server.pk, name, CANNOT[name]), 501, "notImplemented")
    _state(server, vm_state="suspended")
    fault_of(admin.act(server.pk, name, CANNOT[name]), 409, "conflictingRequest")


def test_moves_that_nobody_began_have_nothing_to_end(server: Instance, who: world.People) -> None:
    for name in ("confirmResize", "revertResize"):
        fault_of(ComputeClient(who.member).act(server.pk, name), 409, "conflictingRequest")
    fault_of(ComputeClient(who.admin, minor=NEWEST).act(server.pk, "evacuate", {}), 501, "notImplemented")


@pytest.mark.parametrize("body", [{}, [], None, "x", {"os-stop": None, "pause": None}, {"explode": None}, {"pause": 1}])
def test_a_body_names_one_action_that_there_is(server: Instance, who: world.People, body: Any) -> None:
    answer = ComputeClient(who.member).call(
        "POST", f"/servers/{server.pk}/action", body if body is not None else "null"
    )
    fault_of(answer, 400, "badRequest")


def test_each_action_is_in_the_versions_that_its_row_says(server: Instance, who: world.People) -> None:
    admin = ComputeClient(who.admin)
    for name, action in ACTIONS.items():
        outside = [action.since - 1] if action.since > 1 else []
        outside += [action.until + 1] if action.until is not None else []
        for minor in outside:
            message = fault_of(admin.act(server.pk, name, {}, minor=minor), 400, "badRequest")
            assert message == f"There is no such action: {name}"


@pytest.mark.parametrize(("name", "field"), [("rebuild", "imageRef"), ("rescue", "rescue_image_ref")])
def test_image_that_is_not_for_the_server_is_refused_by_its_name_in_the_body(
    server: Instance, who: world.People, name: str, field: str
) -> None:
    odd = world.image("odd", min_ram_mib=4096)
    said = fault_of(
        ComputeClient(who.member, minor=NEWEST).act(server.pk, name, {field: str(odd.pk)}), 400, "badRequest"
    )
    assert said.startswith(f"{field}: ")
    assert "4096 MiB" in said


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [({"a/b": "x"}, "metadata.a/b: Key 'a/b'"), ({"a": "x" * 256}, "is too long"), ({"a": "x" * 255}, "")],
)
def test_metadata_of_a_new_image_are_refused_by_that_name(
    server: Instance, who: world.People, metadata: dict[str, str], reason: str
) -> None:
    asked = {"name": "copy", "metadata": metadata}
    answer = ComputeClient(who.member, minor=NEWEST).act(server.pk, "createImage", asked)
    if reason:
        assert reason in fault_of(answer, 400, "badRequest")
    else:
        assert answer.status_code == 202
