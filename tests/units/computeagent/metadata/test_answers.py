import base64
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from computeagent.drivers.guest_documents import OPENSTACK_VERSIONS, config_drive_files
from computeagent.metadata.answers import EC2_VERSIONS, answer_of, is_password
from computeagent.protocol.guest_config import FirstBoot, InjectedFile
from computeagent.protocol.metadata import GuestDocument
from tests.units.computeagent.metadata.documents import guest_of

UUID = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
SEED = b"s" * 16
GUEST = guest_of(
    UUID,
    "10.0.0.5",
    public_key="ssh-ed25519 AAAA",
    key_name="k",
    metadata={"role": "web"},
    user_data_base64=base64.b64encode(b"#!/bin/sh\n\xff").decode(),
)
DOCUMENT = GuestDocument("h1", GUEST, floating_addresses=("198.51.100.7",), security_groups=("default", "web"))


def said(path: str, document: GuestDocument = DOCUMENT) -> bytes | None:
    answer = answer_of(document, path, address="10.0.0.5", seed=SEED)
    return None if answer is None else answer.content


def test_openstack_tree_says_what_the_config_drive_says() -> None:
    drive = config_drive_files(GUEST, GUEST.ports, seed=SEED)
    of_openstack = {path: content for path, content in drive.items() if path.startswith("openstack/")}

    assert {path: said(f"/{path}") for path in of_openstack} == of_openstack


def test_ec2_tree_says_what_the_config_drive_says_and_what_it_cannot_know() -> None:
    drive = config_drive_files(GUEST, GUEST.ports, seed=SEED)
    on_drive = json.loads(drive["ec2/2009-04-04/meta-data.json"])

    def read(path: str) -> object:
        names = (said(path) or b"").decode().split("\n")
        found: dict[str, object] = {}
        for name in names:
            key = name.partition("=")[0]
            is_folder = name.endswith("/") or "=" in name
            found[key.rstrip("/")] = (
                read(f"{path}/{key.rstrip('/')}") if is_folder else (said(f"{path}/{name}") or b"").decode()
            )
        return found

    known = {
        "ami-launch-index": "0",
        "public-ipv4": "198.51.100.7",
        "security-groups": "default\nweb",
        "public-keys": {"0": {"openssh-key": "ssh-ed25519 AAAA"}},
    }
    assert read("/2009-04-04/meta-data") == on_drive | known
    assert on_drive["local-ipv4"] == "10.0.0.5"
    assert said("/latest/user-data") == drive["ec2/latest/user-data"]


def test_listings_are_those_of_nova() -> None:
    def lines(path: str) -> list[str]:
        return (said(path) or b"").decode().split("\n")

    assert lines("/openstack") == lines("//openstack/") == [*OPENSTACK_VERSIONS, "latest"]
    assert lines("/") == lines("/ec2") == [*EC2_VERSIONS, "latest"]
    assert lines("/latest/") == ["meta-data/", "user-data"]
    assert lines("/latest/meta-data/public-keys/") == ["0=k"]
    assert lines("/openstack/latest/") == [
        "meta_data.json",
        "network_data.json",
        "password",
        "user_data",
        "vendor_data.json",
        "vendor_data2.json",
    ]
    assert lines("/openstack/2012-08-10") == ["meta_data.json", "user_data"]
    assert "placement/" not in lines("/2007-12-15/meta-data")
    assert "placement/" in lines("/2008-02-01/meta-data")


@pytest.mark.parametrize(
    "path",
    [
        "/openstack/2099-01-01/meta_data.json",
        "/openstack/latest/nothing",
        "/openstack/content/0000",
        "/openstack/latest/meta_data.json/more",
        "/latest/meta-data/public-keys/0/_name",
        "/latest/meta-data/hostname/more",
        "/latest/api/token",
        "/etc/passwd",
        "/openstack/../../etc/passwd",
        "/%2e%2e/x",
    ],
)
def test_anything_else_is_nowhere(path: str) -> None:
    assert said(path) is None


def test_password_and_files_of_the_first_boot_are_not_served() -> None:
    boot = FirstBoot(admin_password="s3cret", files=(InjectedFile("/etc/motd", "aGVsbG8="),))
    document = replace(DOCUMENT, guest=replace(GUEST, first_boot=boot))

    assert said("/openstack/content/0000", document) is None
    everything = [said(f"/openstack/latest/{name}", document) or b"" for name in ("meta_data.json", "user_data")]
    assert b"s3cret" not in b"".join(everything)
    assert "files" not in json.loads(everything[0])


def test_password_is_there_since_the_version_in_which_nova_has_it() -> None:
    assert is_password("/openstack/latest/password")
    assert is_password("/openstack//2013-04-04/password/")
    assert not is_password("/openstack/2012-08-10/password")
    assert not is_password("/latest/password")


PIECES = [*"/._%\x00é", "latest", "openstack", "meta-data", "public-keys", "0"]


@drawn(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_path_does_more_than_say_something_or_nothing(path: str) -> None:
    check: Callable[[str], bytes | None] = said
    assert isinstance(check(path), bytes | None)
