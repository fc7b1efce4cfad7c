import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from computeagent.metadata.store import DocumentStore
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.metadata import GuestDocument
from computeagent.protocol.networks import FixedAddress, NetworkBackendKind
from tests.units.computeagent.metadata.documents import BLUE, HOST, RED, given, guest_of, signed

ONE, TWO = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "0b0c0d0e-7dec-41d0-a765-00a0c91e6bf6"
DOCUMENT = GuestDocument(HOST, guest_of(ONE, "10.0.0.5"))
OTHER = GuestDocument(HOST, guest_of(TWO, "10.0.0.5", network=BLUE))


def opened(tmp_path: Path, host: str = HOST) -> DocumentStore:
    store = DocumentStore(tmp_path / "metadata", host)
    store.open()
    return store


def test_guests_with_equal_addresses_are_told_apart_by_their_networks(tmp_path: Path) -> None:
    store = opened(tmp_path)

    store.take(given(DOCUMENT, OTHER))

    assert store.of_address(RED, "10.0.0.5") == DOCUMENT
    assert store.of_address(BLUE, "10.0.0.5") == OTHER
    assert store.of_address(RED, "10.0.0.6") is None
    assert store.networks() == {RED, BLUE}


def test_documents_outlive_the_agent_in_files_that_only_it_may_read(tmp_path: Path) -> None:
    opened(tmp_path).take(given(DOCUMENT, OTHER))

    again = opened(tmp_path)

    assert again.of_address(RED, "10.0.0.5") == DOCUMENT
    assert again.digests() == {ONE: "d", TWO: "d"}
    directory = tmp_path / "metadata"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_guest_that_is_not_of_this_host_any_more_leaves_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.take(given(DOCUMENT, OTHER))
    store.password_note(ONE, "x")

    store.take(given(also=(TWO,)))

    assert store.of_address(RED, "10.0.0.5") is None
    assert store.of_address(BLUE, "10.0.0.5") == OTHER
    assert [path for path in (tmp_path / "metadata").iterdir() if ONE in path.name] == []


def test_change_takes_the_place_of_what_was_said(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.take(given(DOCUMENT))
    moved = replace(DOCUMENT.guest.ports[0], addresses=(FixedAddress("s", "10.0.0.9"),))

    store.take(given(replace(DOCUMENT, guest=replace(DOCUMENT.guest, ports=(moved,)))))

    assert store.of_address(RED, "10.0.0.5") is None
    assert store.of_address(RED, "10.0.0.9") is not None


@pytest.mark.parametrize("what", ["content", "signature", "uuid", "json"])
def test_file_that_was_changed_is_not_served_and_is_asked_for_anew(tmp_path: Path, what: str) -> None:
    opened(tmp_path).take(given(DOCUMENT, OTHER))
    path = tmp_path / "metadata" / f"{ONE}.json"
    good = signed(DOCUMENT)
    changed = {
        "content": replace(good, content=good.content.replace("web-1", "web-2")),
        "signature": replace(good, signature="AAAA"),
        "uuid": signed(OTHER),
        "json": {},
    }[what]
    path.write_bytes(msgspec.json.encode(changed))

    store = opened(tmp_path)

    assert store.digests() == {TWO: "d"}
    assert not path.exists()


def test_documents_of_another_host_key_or_guest_are_refused(tmp_path: Path) -> None:
    store = opened(tmp_path)
    stranger = Ed25519PrivateKey.from_private_bytes(b"x" * 32)
    of_host = given(replace(DOCUMENT, host="h2"))
    of_key = replace(given(DOCUMENT), documents=(signed(DOCUMENT, key=stranger),))
    of_guest = replace(given(DOCUMENT), documents=(replace(signed(DOCUMENT), instance_uuid="../../etc/x"),))

    for refused in (of_host, of_key, of_guest):
        store.take(refused)

    assert store.digests() == {}
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["control-plane.key", "metadata"]


def test_what_a_kill_left_half_written_is_removed(tmp_path: Path) -> None:
    opened(tmp_path).take(given(DOCUMENT))
    (tmp_path / "metadata" / f"{TWO}.json.partial").write_text("{")

    opened(tmp_path)

    assert sorted(path.name for path in (tmp_path / "metadata").iterdir()) == ["control-plane.key", f"{ONE}.json"]


def test_password_is_told_once_and_kept_until_the_control_plane_has_it(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.take(given(DOCUMENT))

    assert store.password_note(ONE, "first")
    assert not store.password_note(ONE, "second")

    again = opened(tmp_path)
    assert again.passwords() == {ONE: "first"}
    assert again.password_of(ONE) == "first"
    again.take(given(replace(DOCUMENT, password="first")))
    again.password_done(ONE)
    assert again.passwords() == {}
    assert again.password_of(ONE) == "first"
    assert not again.password_note(ONE, "third")


@pytest.mark.parametrize(
    "more",
    [{}, {"kind": NetworkBackendKind.BRIDGE, "vnic_type": "direct"}],
    ids=["of a hypervisor's own network", "that is a device, which nobody hears here"],
)
def test_card_is_nobodys_address(tmp_path: Path, more: dict[str, Any]) -> None:
    store = opened(tmp_path)
    port = PortSpec("52:54:00:00:00:02", RED, addresses=(FixedAddress("s", "10.0.0.8"),), **more)

    store.take(given(replace(DOCUMENT, guest=replace(DOCUMENT.guest, ports=(port,)))))

    assert store.networks() == set()
