"""The networks that an installation on one machine starts with."""

from pathlib import Path

import pytest

from controlplane.identity.models import Project
from controlplane.launcher.seed_networks import dns_servers, networks_seed, private_cidr
from servers.models import Network, Port, Router, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.services.networks import network_delete

pytestmark = pytest.mark.django_db


def test_an_outside_network_and_a_default_one_behind_a_router_are_made_once() -> None:
    project = Project.objects.create(name="admin")

    assert networks_seed("172.24.9.0/24", taken=("10.0.0.0/8",))
    assert not networks_seed("172.24.9.0/24")

    public, private = Network.objects.get(name="public"), Network.objects.get(name="private")
    assert (public.is_external, public.physical_network, public.project) == (True, "public", None)
    assert (private.is_default, private.is_shared, private.project, private.kind) == (True, True, project, "bridge")
    assert {row.cidr: row.gateway for row in Subnet.objects.all()} == {
        "172.24.9.0/24": "172.24.9.1",
        "192.168.233.0/24": "192.168.233.1",
    }
    router = Router.objects.get()
    assert (router.external_network, router.project) == (public, project)
    assert {port.owner: port.addresses for port in Port.objects.all()} == {
        PortOwner.ROUTER_GATEWAY: ["172.24.9.2"],
        PortOwner.ROUTER_INTERFACE: ["192.168.233.1"],
    }


def test_what_an_administrator_has_already_is_left_alone() -> None:
    Project.objects.create(name="admin")
    Network.objects.create(name="old", hypervisor_network="default", is_default=True)
    assert networks_seed("172.24.9.0/24")
    assert Network.objects.get(is_default=True).name == "old"


def test_a_name_that_is_taken_leaves_nothing_half_made() -> None:
    Project.objects.create(name="admin")
    Network.objects.create(name="public", hypervisor_network="default")
    assert not networks_seed("172.24.9.0/24")
    assert list(Network.objects.values_list("name", flat=True)) == ["public"]
    assert not Router.objects.exists()

    network_delete(caller=None, network_id=Network.objects.get().pk)
    assert networks_seed("172.24.9.0/24")


def test_inner_range_avoids_what_the_machine_reaches() -> None:
    assert private_cidr(()) == "10.0.0.0/24"
    assert private_cidr(("0.0.0.0/0", "192.0.2.0/24", "fd00::/8")) == "10.0.0.0/24"
    assert private_cidr(("10.0.0.0/16", "192.168.0.0/16")) == "10.233.0.0/24"


def test_guests_ask_the_machines_name_servers_but_not_those_on_its_loopback(tmp_path: Path) -> None:
    stub, real = tmp_path / "stub", tmp_path / "real"
    stub.write_text("# systemd-resolved\nnameserver 127.0.0.53\nnameserver ::1\noptions edns0\n")
    real.write_text("nameserver 192.0.2.53\nnameserver fe80::1%eth0\nnameserver 198.51.100.53\n")

    assert dns_servers((tmp_path / "none", stub, real)) == ("192.0.2.53", "198.51.100.53")
    assert dns_servers((stub,)) == ()
