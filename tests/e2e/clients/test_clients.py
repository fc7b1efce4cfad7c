"""The `openstack` command and openstacksdk against a whole installation, from the log-in to a server and its end."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.clients.installation_commands import hosts_and_aggregates, quotas_and_usage, resource_providers
from tests.e2e.clients.volume_commands import (
    is_active,
    volumes_are_copied_and_given_away,
    volumes_are_made_and_attached,
)
from tests.fixtures.installation import PASSWORD
from tests.fixtures.openstack_clients import INTERPRETER, OpenStackCommand
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.processes, pytest.mark.long]

COMMANDS_AT_LEAST = 300
SDK_PROGRAM = Path(__file__).with_name("sdk_program.py")


@pytest.fixture(scope="module")
def stock(openstack: OpenStackCommand, files: Path) -> None:
    """What servers are made of: flavor `tiny`, image `disk`, networks `lan` and `public` with the router `edge`."""
    openstack.run("flavor create --ram 256 --disk 1 --vcpus 1 --id tiny-1 tiny")
    openstack.run(f"image create --file {files}/disk.raw --disk-format raw --property os_distro=debian disk")
    openstack.run("network create lan")
    openstack.run("subnet create --network lan --subnet-range 10.1.0.0/24 lan4")
    openstack.run("network create --external --provider-network-type flat --provider-physical-network public public")
    openstack.run("subnet create --network public --subnet-range 203.0.113.0/24 --no-dhcp public4")
    openstack.run("security group create guests")
    openstack.run("router create edge")
    openstack.run("router set --external-gateway public edge")
    openstack.run("router add subnet edge lan4")


def test_log_in_and_people(openstack: OpenStackCommand) -> None:
    token = openstack.get("token issue")
    demo = openstack.get("project show demo")
    assert (token["project_id"], demo["enabled"]) == (demo["id"], True)
    types = {each["Type"] for each in openstack.get("catalog list")}
    assert types == {"identity", "compute", "placement", "network", "image", "volumev3"}
    urls = {each["interface"]: each["url"] for each in openstack.get("catalog show nova")["endpoints"]}
    assert urls["public"].endswith("/compute/v2.1")
    compute = [each for each in openstack.get("versions show") if each["Service Type"] == "compute"]
    assert compute[-1]["Status"] == "CURRENT"
    assert [each["Name"] for each in openstack.get("domain list")] == ["Default"]
    assert [each["Region"] for each in openstack.get("region list")] == ["RegionOne"]
    assert {each["Type"] for each in openstack.get("service list")} == types
    assert len(openstack.get("endpoint list")) == 3 * len(types)

    work = openstack.get("project create --description 'for clients' work")
    openstack.run("project set --description other work")
    assert openstack.get("project show work")["description"] == "other"
    clerk = openstack.get(f"user create --password '{PASSWORD}' --project work --email c@example.org clerk")
    openstack.run("user set --email clerk@example.org clerk")
    assert openstack.get("user show clerk")["email"] == "clerk@example.org"
    assert {each["Name"] for each in openstack.get("role list")} >= {"admin", "member", "reader"}
    openstack.run("role add --project work --user clerk member")
    assert [each["Role"] for each in openstack.get("role assignment list --user clerk --names")] == ["member"]
    assert [each["ID"] for each in openstack.get("user list --project work")] == [clerk["id"]]
    clerks = f"--os-username clerk --os-password '{PASSWORD}' --os-project-name work"
    assert openstack.get(f"{clerks} token issue")["project_id"] == work["id"]
    assert "403" in openstack.refused(f"{clerks} user create nobody")
    openstack.run("role remove --project work --user clerk member")
    assert "401" in openstack.refused(f"{clerks} token issue")
    openstack.run("user delete clerk")
    openstack.run("project delete work")
    assert "No Project found" in openstack.refused("project show work")


def test_flavors_and_key_pairs(openstack: OpenStackCommand, files: Path) -> None:
    made = openstack.get(
        "flavor create --ram 512 --disk 1 --vcpus 2 --id 77 --swap 64 --private --description words "
        "--property hw:cpu_policy=shared half"
    )
    assert (made["id"], made["swap"], made["os-flavor-access:is_public"]) == ("77", 64, False)
    openstack.run("flavor set --property hw:cpu_max_sockets=1 --description other half")
    openstack.run("flavor unset --property hw:cpu_policy half")
    openstack.run("flavor set --project demo half")
    shown = openstack.get("flavor show half")
    assert (shown["properties"], shown["description"]) == ({"hw:cpu_max_sockets": "1"}, "other")
    assert shown["access_project_ids"] == [openstack.get("project show demo")["id"]]
    openstack.run("flavor unset --project demo half")
    assert "half" not in {each["Name"] for each in openstack.get("flavor list")}
    assert "half" in {each["Name"] for each in openstack.get("flavor list --all --long")}
    openstack.run("flavor delete half")
    assert "No Flavor found" in openstack.refused("flavor show half")

    openstack.run(f"keypair create --public-key {files}/key.pub mine")
    assert openstack.run("keypair create made").startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert {each["Name"] for each in openstack.get("keypair list")} == {"mine", "made"}
    assert openstack.get("keypair show mine")["type"] == "ssh"
    assert openstack.run("keypair show --public-key mine").startswith("ssh-ed25519 ")
    openstack.run("keypair delete mine made")
    assert openstack.get("keypair list") == []


def test_images(openstack: OpenStackCommand, files: Path) -> None:
    made = openstack.get(
        f"image create --file {files}/disk.raw --disk-format raw --property os_distro=debian --tag a mine"
    )
    assert (made["status"], made["size"], made["tags"]) == ("active", 1048576, ["a"])
    openstack.run("image set --min-ram 64 --property hw_disk_bus=virtio --tag stable mine")
    openstack.run("image unset --property os_distro --tag a mine")
    shown = openstack.get("image show mine")
    assert (shown["min_ram"], shown["tags"], shown["properties"]["hw_disk_bus"]) == (64, ["stable"], "virtio")
    assert "os_distro" not in shown["properties"]
    for filters in ("--name mine", "--tag stable", "--property hw_disk_bus=virtio", "--status active --private"):
        found = openstack.get(f"image list --long {filters}")
        assert [each["Name"] for each in found] == ([] if "--private" in filters else ["mine"])
    openstack.run(f"image save --file {files}/copy.raw mine")
    assert (files / "copy.raw").read_bytes() == (files / "disk.raw").read_bytes()
    project = openstack.get("project create others")["id"]
    assert openstack.get("image add project mine others")["status"] == "pending"
    assert [each["Member ID"] for each in openstack.get("image member list mine")] == [project]
    openstack.run("image remove project mine others")
    assert openstack.get("image member list mine") == []
    openstack.run("project delete others")
    openstack.run("image set --deactivate mine")
    assert openstack.get("image show mine")["status"] == "deactivated"
    openstack.run("image set --activate --protected mine")
    assert "403" in openstack.refused("image delete mine") or openstack.get("image show mine")["protected"]
    openstack.run("image set --unprotected mine")
    assert openstack.get("image create --disk-format raw empty")["status"] == "queued"
    assert [each["Default"] for each in openstack.get("image stores list")] == [True]
    assert openstack.get("image task list") == []
    assert openstack.get("image import info")["import-methods"] == ["web-download"]
    openstack.run("image delete mine empty")
    assert "No Image found" in openstack.refused("image show mine")


def test_networks(openstack: OpenStackCommand, stock: None) -> None:
    made = openstack.get("network create --description words --mtu 1400 --disable-port-security net")
    assert (made["mtu"], made["port_security_enabled"], made["status"]) == (1400, False, "ACTIVE")
    openstack.run("network set --name other --enable-port-security --tag blue --tag red net")
    openstack.run("network unset --tag red other")
    assert [each["Tags"] for each in openstack.get("network list --long --tags blue")] == [["blue"]]
    assert openstack.get("network list --not-tags blue --name other") == []
    assert [each["Name"] for each in openstack.get("network list --name other --long")] == ["other"]
    assert openstack.get("network show other")["port_security_enabled"] is True
    assert {each["Name"] for each in openstack.get("network list --external")} == {"public"}
    openstack.run("subnet create --network other --subnet-range 10.7.0.0/24 --gateway none --dhcp sub")
    openstack.run("subnet set --dns-nameserver 1.1.1.1 --dns-nameserver 9.9.9.9 --name sub4 sub")
    openstack.run("subnet unset --dns-nameserver 9.9.9.9 sub4")
    shown = openstack.get("subnet show sub4")
    assert (shown["dns_nameservers"], shown["gateway_ip"]) == (["1.1.1.1"], None)
    assert [each["Name"] for each in openstack.get("subnet list --network other --long")] == ["sub4"]

    port = openstack.get("port create --network other --fixed-ip subnet=sub4,ip-address=10.7.0.9 --description d p1")
    assert [each["ip_address"] for each in port["fixed_ips"]] == ["10.7.0.9"]
    openstack.run("port set --name p2 --allowed-address ip-address=10.7.0.77 p1")
    openstack.run("port set --no-fixed-ip p2")
    shown = openstack.get("port show p2")
    assert (shown["fixed_ips"], shown["status"]) == ([], "DOWN")
    assert [pair["ip_address"] for pair in shown["allowed_address_pairs"]] == ["10.7.0.77"]
    assert [each["ID"] for each in openstack.get("port list --network other --long")] == [port["id"]]
    used = {each["Network Name"]: each["Used IPs"] for each in openstack.get("ip availability list")}
    assert (used["other"], openstack.get("ip availability show other")["used_ips"]) == (0, 0)
    openstack.run("port delete p2")
    openstack.run("subnet delete sub4")
    openstack.run("network delete other")
    assert "No Network found" in openstack.refused("network show other")
    agents = openstack.get("network agent list")
    assert {each["Host"] for each in agents} == {"hv-1", "hv-2"}
    assert "router" in {each["Alias"] for each in openstack.get("extension list --network")}


def test_routers_groups_and_floating_addresses(openstack: OpenStackCommand, stock: None) -> None:
    assert [each["ip_address"] for each in openstack.get("router show edge")["interfaces_info"]] == ["10.1.0.1"]
    openstack.run("router set --route destination=10.9.0.0/24,gateway=10.1.0.9 edge")
    assert openstack.get("router show edge")["routes"] == [{"destination": "10.9.0.0/24", "nexthop": "10.1.0.9"}]
    openstack.run("router add route --route destination=10.8.0.0/24,gateway=10.1.0.9 edge")
    openstack.run("router remove route --route destination=10.9.0.0/24,gateway=10.1.0.9 edge")
    openstack.run("router unset --route destination=10.8.0.0/24,gateway=10.1.0.9 edge")
    openstack.run("router set --tag outside edge")
    assert openstack.get("router show edge")["tags"] == ["outside"]
    assert [each["Name"] for each in openstack.get("router list --long")] == ["edge"]
    assert len(openstack.get("port list --router edge")) == 2
    assert "in use" in openstack.refused("router delete edge")

    openstack.run("security group create --description d web")
    rule = openstack.get("security group rule create --protocol tcp --dst-port 80:81 --remote-ip 10.0.0.0/8 web")
    assert (rule["port_range_min"], rule["port_range_max"], rule["remote_ip_prefix"]) == (80, 81, "10.0.0.0/8")
    rule_from_anywhere = openstack.get("security group rule create --protocol icmp --remote-ip 0.0.0.0/0 web")
    assert rule_from_anywhere["remote_ip_prefix"] == "0.0.0.0/0"
    openstack.run("security group rule create --egress --ethertype IPv6 --remote-group web web")
    assert len(openstack.get("security group rule list web --long")) == 5
    assert openstack.get(f"security group rule show {rule['id']}")["protocol"] == "tcp"
    openstack.run(f"security group rule delete {rule['id']}")
    openstack.run("security group set --name web2 --description e web")
    assert len(openstack.get("security group show web2")["rules"]) == 4
    assert {each["Name"] for each in openstack.get("security group list")} >= {"guests", "web2"}
    openstack.run("security group delete web2")

    openstack.run("port create --network lan --fixed-ip subnet=lan4 p3")
    taken = openstack.get("floating ip create --port p3 public")
    address = taken["floating_ip_address"]
    assert address.startswith("203.0.113.")
    assert [each["Floating IP Address"] for each in openstack.get("floating ip list --port p3")] == [address]
    openstack.run(f"floating ip unset --port {address}")
    assert openstack.get(f"floating ip show {address}")["port_id"] is None
    openstack.run(f"floating ip set --port p3 {address}")
    assert openstack.get(f"floating ip show {address}")["fixed_ip_address"].startswith("10.1.0.")
    openstack.run(f"floating ip delete {address}")
    openstack.run("port delete p3")
    assert openstack.get("floating ip list") == []


@pytest.fixture(scope="module")
def server(openstack: OpenStackCommand, stock: None, files: Path) -> str:
    """The id of `web`, which has all that a server can be made with."""
    openstack.run(f"keypair create --public-key {files}/key.pub key")
    openstack.run("server group create --policy anti-affinity apart")
    made = openstack.get(
        "server create --image disk --flavor tiny --network lan --key-name key --security-group guests --tag t1 "
        f"--property a=b --description first --hostname webhost --user-data {files}/key.pub --use-config-drive "
        "--server-group apart --wait web"
    )
    assert (made["status"], made["key_name"], made["tags"]) == ("ACTIVE", "key", ["t1"])
    assert made["addresses"]["lan"][0].startswith("10.1.0.")
    assert (made["properties"], made["config_drive"]) == ({"a": "b"}, "True")
    assert openstack.get("server group show apart")["members"] == [made["id"]]
    return str(made["id"])


def test_servers_are_listed_shown_and_changed(openstack: OpenStackCommand, server: str) -> None:
    assert "does not exist" in openstack.refused(
        "server create --image disk --flavor tiny --network lan --hint group=none --wait bad"
    )
    for filters in (
        "--long",
        "--name web --status ACTIVE",
        "--all-projects --host hv-1",
        "--all-projects --host hv-2",
        "--flavor tiny",
        "--image disk --tags t1",
        "--key-name key --no-name-lookup",
    ):
        found = openstack.get(f"server list {filters}")
        assert [each["ID"] for each in found] in ([server], [] if "--host" in filters else [server])
    openstack.run("server set --property c=d --tag t2 --description other --hostname other web")
    openstack.run("server unset --property a --tag t1 web")
    openstack.run("server set --name web1 web")
    shown = openstack.get("server show web1")
    assert (shown["properties"], shown["tags"], shown["description"]) == ({"c": "d"}, ["t2"], "other")
    assert shown["flavor"]["id"] == "tiny"
    openstack.run("server set --name web web1")
    assert openstack.get("server show --diagnostics web")["state"] == "running"
    pinned = openstack.get(f"--os-compute-api-version 2.1 server show {server}")
    assert pinned["flavor"]["name"] == "tiny"  # found by the id that the server names
    said = "console log show --lines 5 web"
    eventually(lambda: openstack.run(said).startswith("fake guest"), "the guest's first words")
    assert "/consoles/vnc/#token=" in openstack.get("console url show --novnc web")["url"]
    assert openstack.get("console url show --serial web")["protocol"] == "serial"


def test_servers_are_acted_upon(openstack: OpenStackCommand, server: str) -> None:
    for there, status, back in (
        ("stop", "SHUTOFF", "start"),
        ("pause", "PAUSED", "unpause"),
        ("suspend", "SUSPENDED", "resume"),
        ("rescue --image disk", "RESCUE", "unrescue"),
        ("shelve", "SHELVED_OFFLOADED", "unshelve --wait"),
    ):
        openstack.run(f"server {there} web")
        openstack.until(
            "server show web",
            lambda shown, status=status: shown["status"] == status and not shown["OS-EXT-STS:task_state"],
        )
        openstack.run(f"server {back} web")
        openstack.until("server show web", is_active)
    openstack.run("server reboot --wait web")
    openstack.run("server reboot --hard --wait web")
    openstack.run("server rebuild --image disk --wait web")
    openstack.until("server show web", is_active)
    openstack.run("server lock --reason because web")
    assert [each["ID"] for each in openstack.get("server list --locked")] == [server]
    openstack.run("server unlock web")
    openstack.run("server set --auto-approve --state error web")
    assert openstack.get("server show web")["status"] == "ERROR"
    openstack.run("server set --auto-approve --state active web")

    snapshot = openstack.get("server image create --name snap --wait web")
    assert (snapshot["status"], snapshot["properties"]["image_type"]) == ("active", "snapshot")
    openstack.until("server show web", is_active)
    openstack.run("server backup create --name bk --type daily --rotate 1 web")
    openstack.until("server show web", is_active)
    assert {each["Name"] for each in openstack.get("image list")} >= {"snap", "bk"}
    openstack.run("image delete snap bk")

    done = openstack.get("server event list --long web")
    assert [each["Action"] for each in done][-1] == "create"
    assert {each["Action"] for each in done} >= {"stop", "rebuild", "shelve", "createBackup"}
    assert openstack.get(f"server event show web {done[-1]['Request ID']}")["action"] == "create"


def test_moves_answer_as_where_no_driver_can_move(openstack: OpenStackCommand, server: str) -> None:
    openstack.run("flavor create --ram 128 --disk 1 --vcpus 1 less")
    for move in ("resize --flavor less", "migrate", "migrate --live-migration", "evacuate"):
        assert "501" in openstack.refused(f"server {move} web")
    assert "409" in openstack.refused("server resize confirm web")
    assert "409" in openstack.refused("server resize revert web")
    openstack.run("flavor delete less")
    assert openstack.get("server migration list") == []
    assert openstack.get("server migration list --server web") == []


def test_interfaces_and_addresses_of_servers(openstack: OpenStackCommand, server: str) -> None:
    openstack.run("port create --network lan p4")
    openstack.run("server add port web p4")
    openstack.until("server show web", is_active)
    assert len(openstack.get("port list --server web")) == 2
    openstack.run("server remove port web p4")
    openstack.until("server show web", is_active)
    openstack.until("port show p4", lambda shown: shown["device_id"] == "")
    openstack.run("port delete p4")
    added = openstack.get("server add fixed ip web lan")
    openstack.until("server show web", is_active)
    openstack.run(f"server remove port web {added['Port ID']}")
    openstack.until("server show web", is_active)
    openstack.run("security group create more")
    openstack.run("server add security group web more")
    assert {each["name"] for each in openstack.get("server show web")["security_groups"]} == {"guests", "more"}
    openstack.run("server remove security group web more")
    openstack.run("security group delete more")
    address = openstack.get("floating ip create public")["floating_ip_address"]
    openstack.run(f"server add floating ip web {address}")
    assert address in openstack.get("server show web")["addresses"]["lan"]
    openstack.run(f"server remove floating ip web {address}")
    assert address not in openstack.get("server show web")["addresses"]["lan"]
    openstack.run(f"floating ip delete {address}")


def test_volumes(openstack: OpenStackCommand, server: str) -> None:
    volumes_are_made_and_attached(openstack, server)
    volumes_are_copied_and_given_away(openstack)


def test_the_installation(openstack: OpenStackCommand, server: str) -> None:
    quotas_and_usage(openstack)
    hosts_and_aggregates(openstack)
    resource_providers(openstack, server)


def test_openstacksdk(cloud: dict[str, str], stock: None, files: Path) -> None:
    command = [INTERPRETER, SDK_PROGRAM, files / "disk.raw", files / "key.pub"]
    ended = subprocess.run(command, env=cloud, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_the_end(openstack: OpenStackCommand, server: str) -> None:
    openstack.run("server delete --wait web")
    assert openstack.get("server list --all-projects") == []
    assert openstack.get("resource provider allocation show " + server) == []
    openstack.run("server group delete apart")
    openstack.run("keypair delete key")
    openstack.run("router remove subnet edge lan4")
    openstack.run("router unset --external-gateway edge")
    openstack.run("router delete edge")
    openstack.run("network delete lan public")
    openstack.run("image delete disk")
    openstack.run("flavor delete tiny")
    assert openstack.get("network list") == openstack.get("port list") == openstack.get("router list") == []
    assert len(openstack.done) >= COMMANDS_AT_LEAST
