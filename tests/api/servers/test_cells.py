"""Cells by command, API and Django admin: made, filled, listed, disabled and deleted, as far as one database goes."""

import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from controlplane.identity.models import User
from controlplane.kernel.errors import NotFound
from scheduling.models import Cell, HostMapping
from servers.hosts.services.cells import cell_delete
from servers.hosts.services.removal import host_remove
from servers.models import InstanceMapping
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask_and_confirm

pytestmark = pytest.mark.django_db(transaction=True)


def run(name: str, *arguments: str) -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def names() -> list[str]:
    return list(Cell.objects.order_by("name").values_list("name", flat=True))


def test_host_that_is_mapped_before_it_registers_stays_in_its_cell_with_its_instances() -> None:
    who = world.cloud("h1")
    run("cell_create", "--name", "rack-2")
    assert "Host h2 is in cell rack-2 now." in run("cell_discover", "--cell", "rack-2", "--host", "h2")
    assert "Nothing to do: host h2 is in cell rack-2." in run("cell_discover", "--cell", "rack-2", "--host", "h2")
    world.host("h2", memory_mib=2**17)
    rack = Cell.objects.get(name="rack-2")
    assert HostMapping.objects.get(host="h2").cell == rack
    made = world.active(who.member)
    assert made.host == "h2"
    assert InstanceMapping.objects.get(instance_uuid=made.pk).cell_id == rack.pk
    line = next(line for line in run("cell_list").splitlines() if line.startswith("rack-2"))
    assert line.split() == ["rack-2", str(rack.pk), "yes", "1", "1"]
    with pytest.raises(CommandError, match="Host h2 is in cell rack-2, and stays there"):
        run("cell_discover", "--host", "h2")
    shown = world.client_of(who.admin).get("/api/cells/").json()["results"]
    assert {one["name"]: one["hosts"] for one in shown} == {"cell0": 0, "cell1": 1, "rack-2": 1}
    assert world.client_of(who.member).get("/api/cells/").status_code == 403


def test_cell_is_deleted_only_when_nobody_is_in_it() -> None:
    who = world.cloud("h1")
    run("cell_create", "--name", "rack-2")
    run("cell_discover", "--cell", "rack-2", "--host", "h2")
    with pytest.raises(CommandError, match=r"Cell rack-2 has 1 host\(s\)"):
        run("cell_delete", "--cell", "rack-2")
    host_remove(host="h2")  # mapped, and never registered
    made = world.create(who.member)[0]
    InstanceMapping.objects.filter(instance_uuid=made.pk).update(cell_id=Cell.objects.get(name="rack-2").pk)
    with pytest.raises(CommandError, match=r"1 instance\(s\) are mapped to the cell"):
        run("cell_delete", "--cell", "rack-2")
    assert names() == ["cell0", "cell1", "rack-2"]
    InstanceMapping.objects.all().delete()
    assert "is deleted" in run("cell_delete", "--cell", str(Cell.objects.get(name="rack-2").pk))
    assert names() == ["cell0", "cell1"]


@pytest.mark.parametrize(
    ("name", "reason"), [("cell0", "never got a host"), ("cell1", "where hosts register"), ("none", "no cell none")]
)
def test_cells_that_are_needed_or_unknown_are_not_deleted(name: str, reason: str) -> None:
    world.cloud("h1")
    with pytest.raises(CommandError, match=reason):
        run("cell_delete", "--cell", name)
    with pytest.raises(NotFound):
        cell_delete(cell_id=uuid.uuid4())
    assert names() == ["cell0", "cell1"]


@pytest.mark.parametrize(("name", "reason"), [("cell1", "already"), ("", "1 to 255"), ("a\nb", "1 to 255")])
def test_bad_names_are_refused(name: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        run("cell_create", "--name", name)


def test_discover_maps_hosts_that_lost_their_mapping_and_none_to_cell0() -> None:
    world.cloud("h1", "h2")
    HostMapping.objects.filter(host="h2").delete()
    with pytest.raises(CommandError, match="no hosts"):
        run("cell_discover", "--cell", "cell0")
    assert run("cell_discover") == "Host h2 is in cell cell1 now.\n"
    assert run("cell_discover") == "Nothing to do: every host has a cell.\n"
    with pytest.raises(CommandError, match="is no name for a host"):
        run("cell_discover", "--host", "a b")


def test_disabled_cell_takes_no_new_instances_and_the_admin_deletes_empty_ones() -> None:
    who = world.cloud("h1")
    run("cell_create", "--name", "empty")
    browser = Client()
    browser.force_login(User.objects.create_superuser(username="boss", password=world.PASSWORD))
    address = reverse("admin:scheduling_cell_changelist")
    shown = ask_and_confirm(
        browser, address, "delete_cells", [str(pk) for pk in Cell.objects.values_list("pk", flat=True)]
    )
    assert "1 deleted." in shown.content.decode()
    assert names() == ["cell0", "cell1"]
    browser.post(address, {"action": "disable", "_selected_action": [str(Cell.objects.get(name="cell1").pk)]})
    made = world.create(who.member)[0]
    world.pump()
    assert world.instance_of(made.pk).vm_state == "error"
