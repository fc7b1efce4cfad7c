import base64
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pycdlib
import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.config_drive import (
    config_drive_files,
    config_drive_write,
    hostname_of,
    meta_data,
    network_data,
)
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.steps import FailureClass

PORTS = (PortSpec(mac="52:54:00:00:00:01", network="default"),)
SEED = b"s" * 16


def read_iso(path: Path, joliet_path: str) -> bytes:
    iso = pycdlib.PyCdlib()
    iso.open(str(path))
    content = io.BytesIO()
    iso.get_file_from_iso_fp(content, joliet_path=joliet_path)
    iso.close()
    return content.getvalue()


def test_meta_data_names_instance_key_and_metadata(guest_spec: GuestSpec) -> None:
    guest = replace(guest_spec, key_name="k", public_key="ssh-ed25519 AAAA", metadata={"role": "web"})

    document = meta_data(guest, seed=SEED)

    assert document["uuid"] == guest.uuid
    assert document["public_keys"] == {"k": "ssh-ed25519 AAAA"}
    assert document["keys"] == [{"name": "k", "type": "ssh", "data": "ssh-ed25519 AAAA"}]
    assert document["meta"] == {"role": "web"}


def test_meta_data_has_the_place_of_the_guest_in_its_batch(guest_spec: GuestSpec) -> None:
    assert meta_data(replace(guest_spec, launch_index=2), seed=SEED)["launch_index"] == 2


def test_guest_without_key_has_no_key_in_meta_data(guest_spec: GuestSpec) -> None:
    assert "public_keys" not in meta_data(guest_spec, seed=SEED)


def test_network_data_links_each_port_by_its_mac() -> None:
    document = network_data(PORTS)

    assert document["links"] == [
        {"id": "tap0", "type": "phy", "ethernet_mac_address": PORTS[0].mac, "mtu": 1500, "vif_id": "port0"}
    ]
    assert document["networks"] == [{"id": "network0", "type": "ipv4_dhcp", "link": "tap0", "network_id": "default"}]


@pytest.mark.parametrize(
    ("name", "hostname"),
    [
        ("web-1", "web-1"),
        ("My Big_Server.example", "my-big-server-example"),
        ("-.x.-", "x"),
        ("日本", "Server-u"),
        ("a" * 80, "a" * 63),
    ],
)
def test_name_becomes_valid_host_name(name: str, hostname: str) -> None:
    assert hostname_of(name, "u") == hostname


def test_user_data_is_decoded(guest_spec: GuestSpec) -> None:
    guest = replace(guest_spec, user_data_base64=base64.b64encode(b"#!/bin/sh\n\x00\xff").decode())

    assert config_drive_files(guest, PORTS, seed=SEED)["user_data"] == b"#!/bin/sh\n\x00\xff"


def test_user_data_with_line_breaks_is_decoded(guest_spec: GuestSpec) -> None:
    script = b"#!/bin/sh\n" * 40
    guest = replace(guest_spec, user_data_base64=base64.encodebytes(script).decode())

    assert config_drive_files(guest, PORTS, seed=SEED)["user_data"] == script


def test_user_data_that_is_not_base64_is_the_users_fault(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="not base64") as caught:
        config_drive_files(replace(guest_spec, user_data_base64="***"), PORTS, seed=SEED)

    assert caught.value.failure_class is FailureClass.USER


def test_written_disc_holds_the_files_under_openstack_latest(guest_spec: GuestSpec, tmp_path: Path) -> None:
    files = config_drive_files(replace(guest_spec, name="hostile \x01\ud800 </x>"), PORTS, seed=SEED)

    config_drive_write(tmp_path / "config.iso", files)

    for name, content in files.items():
        assert read_iso(tmp_path / "config.iso", f"/openstack/latest/{name}") == content
    document = json.loads(read_iso(tmp_path / "config.iso", "/openstack/latest/meta_data.json"))
    assert document["name"] == "hostile \x01\ud800 </x>"


def test_written_disc_is_labelled_config_2(tmp_path: Path) -> None:
    config_drive_write(tmp_path / "config.iso", {"meta_data.json": b"{}"})

    iso = pycdlib.PyCdlib()
    iso.open(str(tmp_path / "config.iso"))
    assert iso.pvd.volume_identifier.rstrip() == b"config-2"
    iso.close()


def test_empty_user_data_leaves_no_file(guest_spec: GuestSpec) -> None:
    assert "user_data" not in config_drive_files(guest_spec, PORTS, seed=SEED)


def test_all_documents_are_json(guest_spec: GuestSpec) -> None:
    files = config_drive_files(guest_spec, PORTS, seed=SEED)

    parse: Callable[[bytes], object] = json.loads
    assert all(isinstance(parse(content), dict) for content in files.values())
