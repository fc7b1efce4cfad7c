import base64
import io
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pycdlib
import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.guest_documents import (
    OPENSTACK_VERSIONS,
    config_drive_files,
    ec2_meta_data,
    hostname_of,
    meta_data,
)
from computeagent.drivers.host_options import DriveFormat
from computeagent.drivers.libvirt.config_disc import VFAT_BYTES, config_drive_write, drive_format_check
from computeagent.protocol.guest_config import BootFile, DirectBoot, FirstBoot, GuestConfig, InjectedFile
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology import GuestTopology, InstanceNUMACell

PORTS = (PortSpec(mac="52:54:00:00:00:01", network="default"),)
SEED = b"s" * 16


def read_iso(path: Path, joliet_path: str) -> bytes:
    iso = pycdlib.PyCdlib()
    iso.open(str(path))
    content = io.BytesIO()
    iso.get_file_from_iso_fp(content, joliet_path=joliet_path)
    iso.close()
    return content.getvalue()


def read_vfat(path: Path, name: str) -> bytes:
    return subprocess.run(["mtype", "-i", path, f"::{name}"], capture_output=True, check=True).stdout


def drive(guest_spec: GuestSpec, **changes: Any) -> dict[str, bytes]:
    return config_drive_files(replace(guest_spec, **changes), PORTS, seed=SEED)


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


@pytest.mark.parametrize(
    ("name", "hostname"),
    [
        ("web-1", "web-1"),
        ("My Big_Server.example", "my-big-server-example"),
        ("-.x.-", "x"),
        ("日本", "server-u"),
        ("Zürich-01", "zurich-01"),
        ("a" * 80, "a" * 63),
    ],
)
def test_guest_of_a_record_without_host_name_has_the_one_that_a_record_would_have_now(
    guest_spec: GuestSpec, name: str, hostname: str
) -> None:
    assert hostname_of(replace(guest_spec, name=name, uuid="u")) == hostname


def test_host_name_is_the_one_that_the_control_plane_says(guest_spec: GuestSpec) -> None:
    guest = replace(guest_spec, config=GuestConfig(hostname="db.example.org"))

    assert meta_data(guest, seed=SEED)["hostname"] == "db.example.org"
    assert ec2_meta_data(guest)["local-hostname"] == "db.example.org"


def test_user_data_is_decoded(guest_spec: GuestSpec) -> None:
    files = drive(guest_spec, user_data_base64=base64.b64encode(b"#!/bin/sh\n\x00\xff").decode())

    assert files["openstack/latest/user_data"] == files["ec2/latest/user-data"] == b"#!/bin/sh\n\x00\xff"


def test_user_data_with_line_breaks_is_decoded(guest_spec: GuestSpec) -> None:
    script = b"#!/bin/sh\n" * 40
    files = drive(guest_spec, user_data_base64=base64.encodebytes(script).decode())

    assert files["openstack/latest/user_data"] == script


def test_user_data_that_is_not_base64_is_the_users_fault(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="not base64") as caught:
        drive(guest_spec, user_data_base64="***")

    assert caught.value.failure_class is FailureClass.USER


def test_each_version_of_the_layout_has_what_it_had_in_nova(guest_spec: GuestSpec) -> None:
    files = drive(guest_spec, user_data_base64="aGk=")

    def of(version: str) -> set[str]:
        return {path.rpartition("/")[2] for path in files if path.startswith(f"openstack/{version}/")}

    first = {"meta_data.json", "user_data"}
    assert of("2012-08-10") == of("2013-04-04") == first
    assert of("2013-10-17") == first | {"vendor_data.json"}
    assert of("2015-10-15") == of("2016-06-30") == first | {"vendor_data.json", "network_data.json"}
    assert of("2016-10-06") == of("2025-04-04") == of("latest") == {*of("2015-10-15"), "vendor_data2.json"}
    keys = {
        version: set(json.loads(files[f"openstack/{version}/meta_data.json"]))
        for version in (*OPENSTACK_VERSIONS, "latest")
    }
    assert keys["2013-04-04"] - keys["2012-08-10"] == {"random_seed"}
    assert keys["2015-10-15"] - keys["2013-10-17"] == {"project_id"}
    assert keys["2016-06-30"] - keys["2015-10-15"] == {"devices"}
    assert keys["2020-10-14"] - keys["2018-08-27"] == {"dedicated_cpus"}
    assert keys["latest"] == keys["2025-04-04"]


def test_password_and_files_are_on_the_drive_and_in_no_repr(guest_spec: GuestSpec) -> None:
    said = FirstBoot(admin_password="s3cret", files=(InjectedFile("/etc/motd", "aGVsbG8="),), vendor_data='{"a": 1}')
    guest = replace(guest_spec, first_boot=said)
    files = config_drive_files(guest, PORTS, seed=SEED)

    document = json.loads(files["openstack/latest/meta_data.json"])
    assert document["admin_pass"] == "s3cret"
    assert document["files"] == [{"path": "/etc/motd", "content_path": "/content/0000"}]
    assert files["openstack/content/0000"] == b"hello"
    assert json.loads(files["openstack/latest/vendor_data.json"]) == {"a": 1}
    assert files["openstack/latest/vendor_data2.json"] == b"{}"
    assert "s3cret" not in repr(guest)
    assert "aGVsbG8" not in repr(guest)


def test_injected_file_that_is_not_base64_is_the_users_fault(guest_spec: GuestSpec) -> None:
    with pytest.raises(DriverError, match="not base64") as caught:
        drive(guest_spec, first_boot=FirstBoot(files=(InjectedFile("/x", "*"),)))

    assert caught.value.failure_class is FailureClass.USER


def test_pinned_cpus_are_in_meta_data(guest_spec: GuestSpec) -> None:
    cells = (
        InstanceNUMACell(0, frozenset({0}), frozenset({2, 1}), 512),
        InstanceNUMACell(1, frozenset(), frozenset({3}), 512),
    )
    guest = replace(guest_spec, numa_topology=GuestTopology(cells))

    assert meta_data(guest, seed=SEED)["dedicated_cpus"] == [1, 2, 3]


def test_ec2_tree_names_key_kernel_and_root_disk(guest_spec: GuestSpec) -> None:
    guest = replace(
        guest_spec,
        public_key="ssh-ed25519 AAAA",
        key_name="k",
        launch_index=1,
        config=GuestConfig(flavor_name="small", reservation_id="r-1"),
        direct_boot=DirectBoot(BootFile("11112222-3333-4444-5555-666677778888", "", 1)),
        image_properties={"hw_disk_bus": "sata"},
    )
    document = ec2_meta_data(guest)

    assert document["public-keys"] == {"0": {"_name": "0=k", "openssh-key": "ssh-ed25519 AAAA"}}
    assert document["block-device-mapping"] == {"ami": "sda", "root": "/dev/sda"}
    assert (document["ami-launch-index"], document["instance-type"], document["reservation-id"]) == (1, "small", "r-1")
    assert document["kernel-id"] == "aki-11112222"
    assert "ramdisk-id" not in document


@pytest.mark.parametrize("kind", DriveFormat)
def test_written_drive_holds_every_file(guest_spec: GuestSpec, tmp_path: Path, kind: DriveFormat) -> None:
    guest = replace(guest_spec, name="hostile \x01\ud800 </x>", user_data_base64="aGk=")
    files = config_drive_files(guest, PORTS, seed=SEED)

    path = config_drive_write(tmp_path, kind, files)

    read = read_iso if kind is DriveFormat.ISO9660 else read_vfat
    assert {name: read(path, f"/{name}") for name in files} == files
    assert json.loads(files["openstack/latest/meta_data.json"])["name"] == "hostile \x01\ud800 </x>"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_written_disc_is_labelled_config_2(tmp_path: Path) -> None:
    path = config_drive_write(tmp_path, DriveFormat.ISO9660, {"openstack/latest/meta_data.json": b"{}"})

    iso = pycdlib.PyCdlib()
    iso.open(str(path))
    assert iso.pvd.volume_identifier.rstrip() == b"config-2"
    iso.close()


def test_written_disk_is_a_fat_file_system_labelled_config_2(tmp_path: Path) -> None:
    path = config_drive_write(tmp_path, DriveFormat.VFAT, {"openstack/latest/meta_data.json": b"{}"})

    assert path.stat().st_size == VFAT_BYTES
    label = subprocess.run(["mlabel", "-s", "-i", path, "::"], capture_output=True, check=True, text=True).stdout
    assert label.split()[-1].lower() == "config-2"


def test_vfat_without_mtools_is_refused_before_a_guest_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    drive_format_check(DriveFormat.ISO9660)
    with pytest.raises(DriverError, match="mtools: mformat, mcopy is not installed"):
        drive_format_check(DriveFormat.VFAT)


def test_empty_user_data_leaves_no_file(guest_spec: GuestSpec) -> None:
    assert not [path for path in drive(guest_spec) if "user" in path]


def test_all_documents_are_json(guest_spec: GuestSpec) -> None:
    parse: Callable[[bytes], object] = json.loads
    assert all(isinstance(parse(content), dict) for content in drive(guest_spec).values())
