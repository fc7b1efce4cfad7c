"""Commands of volumes, beside one server `web`."""

from tests.fixtures.openstack_clients import OpenStackCommand


def is_there(shown: dict[str, object]) -> bool:
    """Whether a volume, a snapshot or a backup is at rest."""
    return shown["status"] == "available"


def is_active(shown: dict[str, object]) -> bool:
    """Whether a server runs and nothing is being done to it."""
    return (shown["status"], shown["OS-EXT-STS:task_state"]) == ("ACTIVE", None)


def volumes_are_made_and_attached(openstack: OpenStackCommand, server: str) -> None:
    """A volume `data` of a type `fast`, which the server `web` has for a while."""
    openstack.run("volume type create --description d --property volume_backend_name=shared fast")
    assert openstack.get("volume type show fast")["properties"] == {"volume_backend_name": "shared"}
    assert [each["Name"] for each in openstack.get("volume type list --long")] == ["fast"]
    openstack.run("volume create --size 1 --type fast --description words --property a=b data")
    openstack.until("volume show data", is_there)
    openstack.run("volume set --property c=d --description other --name data2 data")
    openstack.run("volume unset --property a data2")
    openstack.run("volume set --name data --size 2 data2")
    openstack.run("volume set --bootable data")
    openstack.run("volume set --non-bootable data")
    shown = openstack.until("volume show data", is_there)
    assert (shown["size"], shown["properties"], shown["bootable"]) == (2, {"c": "d"}, False)

    assert openstack.get("server add volume web data")["Device"] == "/dev/vdb"
    openstack.until("volume show data", lambda shown: shown["status"] == "in-use")
    assert [each["Device"] for each in openstack.get("server volume list web")] == ["/dev/vdb"]
    assert [each["Name"] for each in openstack.get("volume list --status in-use --long")] == ["data"]
    openstack.run("server volume set --delete-on-termination web data")
    openstack.run("server volume set --preserve-on-termination web data")
    assert [each["Server ID"] for each in openstack.get("volume attachment list")] == [server]
    openstack.until("server show web", is_active)
    openstack.run("server remove volume web data")
    openstack.until("volume show data", is_there)


def volumes_are_copied_and_given_away(openstack: OpenStackCommand) -> None:
    """Snapshots, copies, backups and a transfer of `data`; in the end nothing of them is there."""
    openstack.run("volume snapshot create --volume data --description s s1")
    openstack.until("volume snapshot show s1", is_there)
    openstack.run("volume snapshot set --name s2 --property x=y s1")
    openstack.run("volume snapshot unset --property x s2")
    assert [each["Name"] for each in openstack.get("volume snapshot list --long")] == ["s2"]
    openstack.run("volume revert s2")
    openstack.until("volume show data", is_there)
    openstack.run("volume create --snapshot s2 --size 2 fromsnap")
    openstack.run("volume create --source data --size 2 fromvol")
    openstack.run("volume create --image disk --size 1 --bootable boot")
    for name in ("fromsnap", "fromvol", "boot"):
        openstack.until(f"volume show {name}", is_there)
    assert openstack.get("volume show boot")["volume_image_metadata"]["image_name"] == "disk"
    _backed_up(openstack)
    offered = openstack.get("volume transfer request create --name t data")
    assert [each["Name"] for each in openstack.get("volume transfer request list")] == ["t"]
    assert openstack.get("volume transfer request show t")["id"] == offered["id"]
    accept = f"volume transfer request accept --auth-key {offered['auth_key']} {offered['id']}"
    assert "409" in openstack.refused(accept)  # by the project that has it
    openstack.run(f"volume transfer request delete {offered['id']}")
    openstack.run("volume snapshot delete s2")
    openstack.run("volume delete fromsnap fromvol boot restored")
    openstack.until("volume list", lambda shown: [each["Name"] for each in shown] == ["data"])
    assert openstack.get("volume summary")["Total Count"] == 1
    assert {each["State"] for each in openstack.get("volume service list")} == {"up"}
    assert len(openstack.get("volume backend pool list")) == 3
    openstack.run("volume delete data")
    openstack.until("volume list", lambda shown: shown == [])
    openstack.run("volume type delete fast")


def _backed_up(openstack: OpenStackCommand) -> None:
    """A full backup of `data`, an increment right after it, and a volume of both, which stays: `restored`."""
    openstack.run("volume backup create --name b1 data")
    openstack.until("volume backup show b1", is_there)
    openstack.run("volume backup set --name b2 b1")
    assert [each["Name"] for each in openstack.get("volume backup list --long")] == ["b2"]
    openstack.until("volume backup show b2", is_there)
    openstack.run("volume backup create --incremental --name b3 data")
    openstack.until("volume backup show b3", is_there)
    assert openstack.get("volume backup show b3")["is_incremental"] is True
    assert "delete these first" in openstack.refused("volume backup delete b2")
    openstack.run("volume backup restore b3 restored")
    openstack.until("volume show restored", is_there)
    openstack.until("volume backup show b3", is_there)
    openstack.run("volume backup delete b3")
    openstack.until("volume backup list", lambda shown: [each["Name"] for each in shown] == ["b2"])
    openstack.run("volume backup delete b2")
