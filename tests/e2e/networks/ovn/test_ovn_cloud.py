"""The whole of it: a control plane, two hypervisors with `qemu:///system` and OVN, and guests that people ask for."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.installation import Installation
from tests.fixtures.ovn import OvnSite, missing_for_ovn, ovn_site
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import Processes
from tests.fixtures.system_hypervisor import ChassisHypervisor

pytestmark = [pytest.mark.processes, pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
OPTIONS = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes", "ConnectTimeout=3")


@pytest.fixture
def site() -> Iterator[OvnSite]:
    if missing := missing_for_ovn():
        pytest.skip(missing)
    found = ovn_site()
    yield found
    found.close()


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kn-") as made:  # QEMU's user can pass no directory of pytest's
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture
def cloud(site: OvnSite, processes: Processes, tmp_path: Path) -> Iterator[Installation]:
    settings = {
        "NETWORK_KIND": "ovn",
        "OVN_NORTHBOUND": site.central.address("nb"),
        "OVN_GATEWAY_CHASSIS": "hv1,hv2",
    }
    here = Installation(processes, tmp_path / "state", driver="qemu", hypervisors=0, env=settings)
    yield here.start(is_alone=True)
    here.stop()


@pytest.fixture
def hosts(
    site: OvnSite, cloud: Installation, processes: Processes, directory: Path, qemu_answers: Path
) -> Iterator[list[ChassisHypervisor]]:
    found = [
        ChassisHypervisor(processes, cloud, chassis, directory / chassis.name, qemu_answers=qemu_answers)
        for chassis in site.chassis
    ]
    for one in found:
        one.start()
    cloud.wait_for(cloud.is_ready)
    cloud.wait_for(lambda: {one["host"] for one in cloud.call("hosts/")["results"]} == {"hv1", "hv2"})
    yield found
    for one in found:
        one.close()


def make(cloud: Installation, path: str, **body: Any) -> str:
    answer = cloud.call(path, body)
    assert "id" in answer, answer
    return str(answer["id"])


def test_guests_of_two_system_hypervisors_are_reached_and_reach_each_other(
    site: OvnSite, cloud: Installation, hosts: list[ChassisHypervisor], tmp_path: Path
) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    cloud.call("keypairs/", {"name": "me", "public_key": key.with_suffix(".pub").read_text()})
    outside = make(cloud, "networks/", name="public", is_external=True, physical_network="physnet1")
    make(cloud, "subnets/", network=outside, cidr="203.0.113.0/24", has_dhcp=False)
    inside = make(cloud, "networks/", name="blue")
    subnet = make(cloud, "subnets/", network=inside, cidr="10.77.0.0/24")
    router = make(cloud, "routers/", name="r", external_network=outside)
    cloud.call(f"routers/{router}/add-interface/", {"subnet": subnet})

    guests = {host: make_guest(cloud, host) for host in ("hv1", "hv2")}
    cloud.wait_for(lambda: cloud.statuses() == ["ACTIVE", "ACTIVE"])
    first, second = (cloud.call(f"instances/{guests[host]}/") for host in ("hv1", "hv2"))
    assert (first["host"], second["host"]) == ("hv1", "hv2")
    (address,) = second["addresses"]["blue"]
    (port,) = [one["id"] for one in cloud.call("ports/")["results"] if one["instance"] == first["id"]]
    floating = cloud.call("floating-ips/", {"network": outside, "port": port})["address"]
    for guest in (first, second):
        cloud.wait_for(lambda guest=guest: "eth0 has 10.77.0." in cloud.console(guest["id"]))

    words = [word for option in OPTIONS for word in ("-o", option)]

    def ssh(command: str) -> "subprocess.CompletedProcess[str]":
        login = [
            "timeout",
            "30",
            "ssh",
            "-F",
            "none",
            *words,
            "-o",
            "IdentitiesOnly=yes",
            "-i",
            str(key),
            f"root@{floating}",
            command,
        ]
        inside = ["ip", "netns", "exec", site.outside.namespace, *login]
        return subprocess.run(inside, capture_output=True, text=True, check=False, timeout=PATIENCE_S)

    closed = ssh("true")
    assert "timed out" in closed.stderr, closed.stderr
    (group,) = [one["id"] for one in cloud.call("security-groups/")["results"]]
    rule = make(
        cloud, "security-group-rules/", group=group, direction="ingress", protocol="tcp", port_min=22, port_max=22
    )
    began = time.monotonic()
    cloud.wait_for(lambda: ssh("true").returncode == 0)
    print(f"port 22 was open after {time.monotonic() - began:.2f} s")

    # Of one group, so that one may send to the other whatever it likes, across the tunnel.
    said = ssh(f"hostname; ping -c 2 -W 5 {address}; wget -q -O - http://169.254.169.254/latest/meta-data/hostname")
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.startswith("on-hv1\n")
    assert "2 packets received" in said.stdout
    assert said.stdout.endswith("on-hv1")

    assert cloud.call(f"security-group-rules/{rule}/", method="DELETE") is None
    cloud.wait_for(lambda: ssh("true").returncode != 0)

    for guest in guests.values():
        cloud.call(f"instances/{guest}/", method="DELETE")
    cloud.wait_for(lambda: cloud.instances() == [])
    for host in hosts:
        links = host.run("ip", "-brief", "link")
        assert not [line for line in links.splitlines() if line.startswith("tp")], links
        assert "tp" not in host.chassis.vsctl("list-ports", "br-int")


def make_guest(cloud: Installation, host: str) -> str:
    made = cloud.create(f"on-{host}", key_name="me", availability_zone=f"nova:{host}")
    assert "id" in made, made
    return str(made["id"])
