"""openstacksdk's cloud layer from nothing to a server with a floating address and a volume, and back to nothing.

    sdk_program.py IMAGE_FILE PUBLIC_KEY_FILE    (OS_CLOUD says where; an external network `public` is there)

Started with the interpreter that has openstacksdk. Ends with status 0 when all was as it asserts.
"""

import sys
import time

import openstack
from openstack.connection import Connection

TIMEOUT_S = 60
LONGEST_SLEEP_S = 0.2


def main(image_file: str, key_file: str) -> None:
    """See the module."""
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, LONGEST_SLEEP_S))  # waits look every two seconds
    cloud = openstack.connect()
    _stock_made(cloud, image_file, key_file)
    _server_lives(cloud)
    _volumes_live(cloud)
    _all_removed(cloud)


def _stock_made(cloud: Connection, image_file: str, key_file: str) -> None:
    image = cloud.create_image(
        "sdk", filename=image_file, disk_format="raw", container_format="bare", wait=True, os_distro="debian"
    )
    assert (image.status, image.os_distro) == (
        "active",
        "debian",
    )
    flavor = cloud.create_flavor("sdk", ram=256, vcpus=1, disk=1)
    cloud.set_flavor_specs(flavor.id, {"hw:cpu_policy": "shared"})
    assert cloud.get_flavor("sdk").extra_specs == {"hw:cpu_policy": "shared"}
    with open(key_file) as file:
        text = file.read()
    cloud.create_keypair("sdk", text)
    assert cloud.get_keypair("sdk").public_key == text
    network = cloud.create_network("sdk")
    subnet = cloud.create_subnet(network.id, cidr="10.2.0.0/24", ip_version=4, enable_dhcp=True, subnet_name="sdk")
    router = cloud.create_router("sdk", ext_gateway_net_id=cloud.get_network("public").id)
    cloud.add_router_interface(router, subnet_id=subnet.id)
    assert len(cloud.list_router_interfaces(router)) == 2
    group = cloud.create_security_group("sdk", "for servers")
    rule = cloud.create_security_group_rule(
        group.id, port_range_min=22, port_range_max=22, protocol="tcp", remote_ip_prefix="0.0.0.0/0"
    )
    assert rule.remote_ip_prefix == "0.0.0.0/0"
    assert cloud.create_server_group("sdk", ["anti-affinity"]).policy in ("anti-affinity", None)


def _server_lives(cloud: Connection) -> None:
    server = cloud.create_server(
        "sdk",
        image="sdk",
        flavor="sdk",
        network="sdk",
        key_name="sdk",
        security_groups=["sdk"],
        meta={"a": "b"},
        userdata="#!/bin/sh\n",
        group=cloud.get_server_group("sdk").id,
        auto_ip=True,
        wait=True,
        timeout=TIMEOUT_S,
    )
    kinds = {each["OS-EXT-IPS:type"] for each in server.addresses["sdk"]}
    assert (server.status, kinds) == ("ACTIVE", {"fixed", "floating"})
    end = time.monotonic() + TIMEOUT_S
    while not cloud.get_server_console(server).startswith("fake guest"):  # what a guest writes comes when it has booted
        assert time.monotonic() < end
        time.sleep(LONGEST_SLEEP_S)
    cloud.set_server_metadata("sdk", {"c": "d"})
    cloud.delete_server_metadata("sdk", ["a"])
    assert cloud.get_server("sdk").metadata == {"c": "d"}
    assert [each.id for each in cloud.search_servers(filters={"name": "sdk"})] == [server.id]
    snapshot = cloud.create_image_snapshot("sdk-snapshot", server, wait=True, timeout=TIMEOUT_S)
    assert snapshot.status == "active"
    rebuilt = cloud.rebuild_server(server.id, cloud.get_image("sdk").id, wait=True, timeout=TIMEOUT_S)
    assert rebuilt.status == "ACTIVE"
    assert cloud.get_openstack_vars(cloud.get_server(server.id))["name"] == "sdk"


def _volumes_live(cloud: Connection) -> None:
    volume = cloud.create_volume(1, name="sdk", wait=True, timeout=TIMEOUT_S)
    server = cloud.get_server("sdk")
    cloud.attach_volume(server, volume, wait=True, timeout=TIMEOUT_S)
    assert cloud.get_volume("sdk").status == "in-use"
    snapshot = cloud.create_volume_snapshot(volume.id, force=True, name="sdk", wait=True, timeout=TIMEOUT_S)
    backup = cloud.create_volume_backup(volume.id, force=True, name="sdk", wait=True, timeout=TIMEOUT_S)
    assert (snapshot.status, backup.status) == ("available", "available")
    cloud.detach_volume(server, cloud.get_volume("sdk"), wait=True, timeout=TIMEOUT_S)
    assert cloud.get_volume("sdk").status == "available"
    booted = cloud.create_server(
        "sdk-volume",
        image="sdk",
        flavor="sdk",
        network="sdk",
        boot_from_volume=True,
        volume_size=1,
        terminate_volume=True,
        auto_ip=False,
        wait=True,
        timeout=TIMEOUT_S,
    )
    assert (booted.status, len(booted.attached_volumes)) == ("ACTIVE", 1)


def _all_removed(cloud: Connection) -> None:
    assert cloud.delete_server("sdk", wait=True, timeout=TIMEOUT_S, delete_ips=True)
    assert cloud.delete_server("sdk-volume", wait=True, timeout=TIMEOUT_S)
    assert cloud.delete_volume_backup("sdk", wait=True, timeout=TIMEOUT_S)
    assert cloud.delete_volume_snapshot("sdk", wait=True, timeout=TIMEOUT_S)
    assert cloud.delete_volume("sdk", wait=True, timeout=TIMEOUT_S)
    assert cloud.delete_image("sdk", wait=True)
    assert cloud.delete_image("sdk-snapshot", wait=True)
    cloud.remove_router_interface(cloud.get_router("sdk"), subnet_id=cloud.get_subnet("sdk").id)
    assert cloud.delete_router("sdk")
    assert cloud.delete_subnet("sdk")
    assert cloud.delete_network("sdk")
    assert cloud.delete_security_group("sdk")
    assert cloud.delete_keypair("sdk")
    assert cloud.delete_server_group("sdk")
    assert cloud.delete_flavor("sdk")
    left = [*cloud.list_floating_ips(), *(each for each in cloud.list_volumes() if each.name.startswith("sdk"))]
    assert left == []


if __name__ == "__main__":
    main(*sys.argv[1:])
