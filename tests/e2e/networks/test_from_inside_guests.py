"""What real guests on `manage.py up` reach and what they do not, tried from inside. As root and as an ordinary user."""

import json
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from computeagent.networks.places.probe import places_lack, way_out_lack
from tests.fixtures.installation import Installation
from tests.fixtures.ordinary_user import NOBODY
from tests.fixtures.processes import Processes
from tests.fixtures.ssh import key_pair_make, ssh

pytestmark = [pytest.mark.qemu, pytest.mark.libvirt, pytest.mark.long]
LOOPBACK = (
    "echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet; ip address del 127.0.0.1/8 dev lo; "
    "ip route add 127.0.0.1 via {gateway} dev eth0; nc -w 2 127.0.0.1 {port} < /dev/null; echo ended $?; "
    "ip route del 127.0.0.1; ip address add 127.0.0.1/8 dev lo"
)
ANOTHER_MAC = (
    "own=$(cat /sys/class/net/eth0/address); ip link set dev eth0 address 52:54:00:99:99:99; "
    "ping -c 2 -W 1 {other} > /tmp/said 2>&1; ip link set dev eth0 address $own; echo ended >> /tmp/said"
)
Inside = Callable[[str], str]


@pytest.fixture(params=["root", "user"])
def here(
    request: pytest.FixtureRequest, processes: Processes, tmp_path: Path, qemu_answers: Path
) -> Iterator[Installation]:
    if os.geteuid() != 0:
        pytest.skip("only root can be both")
    if lack := [*places_lack(), *way_out_lack()]:
        pytest.skip(f"missing: {lack}")
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:  # others can read no directory of pytest's
        state, user = Path(directory) / "state", NOBODY if request.param == "user" else 0
        found = Installation(processes, state, driver="qemu", hypervisors=2, qemu_answers=qemu_answers, user=user)
        try:
            found.start()  # it waits for a first host only
            found.wait_for(lambda: {one["host"] for one in found.call("hosts/")["results"]} >= {"hv-1", "hv-2"})
            yield found
        finally:
            found.manage("down", "--grace", "0")


def guest_make(here: Installation, name: str, host: str, network: str) -> str:
    networks = [{"network": network}]
    return str(here.create(name, key_name="me", availability_zone=f"nova:{host}", networks=networks)["id"])


def addresses_of(here: Installation, *prefix: str) -> set[str]:
    """IPv4 addresses of the hypervisor, or of the machine, but for loopbacks."""
    shown = here.manage("network_shell", *prefix, "ip", "-4", "-json", "address", "show").stdout
    links: list[dict[str, Any]] = json.loads(shown[shown.index("[") :])
    return {each["local"] for link in links for each in link["addr_info"] if link["ifname"] != "lo"}


def test_guests_reach_their_network_and_neither_others_nor_what_carries_them(here: Installation) -> None:
    key = key_pair_make(here)
    apart = here.call("networks/", {"name": "apart"})["id"]
    here.call("subnets/", {"network": apart, "cidr": "10.99.0.0/24"})
    guests = {
        "one": guest_make(here, "one", "hv-1", "private"),
        "two": guest_make(here, "two", "hv-2", "private"),
        "other": guest_make(here, "other", "hv-1", "apart"),
    }
    here.wait_for(lambda: here.statuses() == ["ACTIVE"] * 3)
    found = {name: here.call(f"instances/{uuid}/")["addresses"] for name, uuid in guests.items()}
    (group,) = [one["id"] for one in here.call("security-groups/")["results"]]
    for protocol in ("tcp", "icmp", "udp"):  # what is not reached is not reached for other reasons
        here.call("security-group-rules/", {"group": group, "direction": "ingress", "protocol": protocol})
    (public,) = [one["id"] for one in here.call("networks/")["results"] if one["name"] == "public"]
    (port,) = [one["id"] for one in here.call("ports/")["results"] if one["instance"] == guests["one"]]
    floating = here.call("floating-ips/", {"network": public, "port": port})["address"]
    (two,), (other,) = found["two"]["private"], found["other"]["apart"]
    for name, uuid in guests.items():
        here.wait_for(lambda name=name, uuid=uuid: has_its_addresses(here, uuid, found[name]))
    here.wait_for(lambda: ssh(here, key, floating, "true").returncode == 0)

    def inside(command: str) -> str:
        return ssh(here, key, floating, command).stdout

    def pings(address: str, *options: str) -> bool:
        said = inside(f"ping -c 1 -W 2 {' '.join(options)} {address} > /dev/null 2>&1; echo ended $?")
        assert "ended" in said, said
        return "ended 0" in said

    here.wait_for(lambda: pings(two))
    assert not pings(other), "a guest of another network"
    hypervisor = addresses_of(here, "--host", "hv-1")
    assert hypervisor, "it has an address of the underlay at least"
    assert [address for address in hypervisor if pings(address)] == []
    nothing_of_the_machine(here, inside)
    nothing_under_another_name(inside, pings, two)


def has_its_addresses(here: Installation, uuid: str, addresses: dict[str, list[str]]) -> bool:
    said = here.console(uuid)
    return all(f"eth0 has {one}" in said for several in addresses.values() for one in several)


def nothing_of_the_machine(here: Installation, inside: Inside) -> None:
    """Neither the control plane nor anything else that listens there, under none of its addresses, its loopback
    included: consoles of other tenants, where they listen at all, listen there.
    """
    shown = json.loads(
        subprocess.run(["ip", "-4", "-json", "address"], capture_output=True, text=True, check=True).stdout
    )
    own = {each["local"] for link in shown for each in link["addr_info"] if link["ifname"] != "lo"}
    gateway = inside("ip route | sed -n 's/^default via \\([0-9.]*\\).*/\\1/p'").strip()
    assert gateway.startswith("10."), gateway
    with socket.create_server(("", 0)) as listener:
        accepted: list[object] = []
        threading.Thread(target=lambda: accepted.append(listener.accept()), daemon=True).start()
        for port in (listener.getsockname()[1], here.port):
            for address in sorted(own):
                said = inside(f"nc -w 2 {address} {port} < /dev/null; echo ended $?")
                assert "ended 1" in said, (address, port, said)
            said = inside(LOOPBACK.format(gateway=gateway, port=port))
            assert "ended 1" in said, (port, said)
        assert accepted == []
        socket.create_connection(listener.getsockname()).close()


def nothing_under_another_name(inside: Inside, pings: Callable[..., bool], other: str) -> None:
    """Neither another address nor another MAC; under its own it is heard again."""
    inside("ip address add 10.0.0.254/24 dev eth0")
    assert not pings(other, "-I", "10.0.0.254")
    inside("ip address del 10.0.0.254/24 dev eth0")
    inside(f"({ANOTHER_MAC.format(other=other)}) > /dev/null 2>&1 < /dev/null &")
    said = ""
    for _ in range(20):
        said = inside("cat /tmp/said")
        if "ended" in said:
            break
    assert "0 packets received" in said, said
    assert pings(other)
