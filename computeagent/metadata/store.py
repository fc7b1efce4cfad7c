"""The documents of this host's guests, on its disk: what is there survives the agent, and needs no control plane.

A file for each guest, closed to everybody but the agent. One that the control plane's key did not sign, for this host
and this guest, is as good as none: it is removed and asked for anew.
"""

import base64
import binascii
import logging
import os
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from computeagent.protocol.metadata import GuestDocument, GuestDocuments, SignedDocument
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.kill_points import reach

log = logging.getLogger(__name__)

KEY_FILE, DOCUMENT, PASSWORD, PARTIAL = "control-plane.key", ".json", ".password", ".partial"
_signed = msgspec.json.Decoder(SignedDocument)
_content = msgspec.json.Decoder(GuestDocument)


@dataclass(frozen=True, slots=True)
class _Known:
    """What readers see, replaced as a whole."""

    digests: dict[str, str]
    documents: dict[str, GuestDocument]
    of_address: dict[tuple[str, str], str]


class DocumentStore:
    """Documents by guest, and by network and address. Readers never wait; writers are one at a time."""

    def __init__(self, directory: Path, host: str) -> None:
        self._directory = directory
        self._host = host
        self._lock = threading.Lock()
        self._key = ""
        self._passwords: dict[str, str] = {}
        self._known = _Known({}, {}, {})

    def open(self) -> None:
        """Read what an earlier run kept, and remove what is none of it. Raises OSError."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory.chmod(0o700)
        for path in self._directory.glob(f"*{PARTIAL}"):
            path.unlink()
        key_path = self._directory / KEY_FILE
        self._key = key_path.read_text() if key_path.exists() else ""
        found = {}
        for path in self._directory.glob(f"*{DOCUMENT}"):
            signed = _read(path)
            if signed is None or path.stem != signed.instance_uuid or self._verified(signed) is None:
                log.warning("the metadata of guest %s is not what the control plane signed; asked for anew", path.stem)
                path.unlink()
            else:
                found[signed.instance_uuid] = signed
        for path in self._directory.glob(f"*{PASSWORD}"):
            self._passwords[path.stem] = path.read_text()
        self._publish(found)

    def digests(self) -> dict[str, str]:
        """What is here, by guest: what the control plane compares."""
        return dict(self._known.digests)

    def networks(self) -> set[str]:
        """Ids of the networks that guests with a document have addresses in."""
        return {network for network, _ in self._known.of_address}

    def of_address(self, network_id: str, address: str) -> GuestDocument | None:
        """The document of the guest with this address of this network."""
        known = self._known
        uuid = known.of_address.get((network_id, address))
        return None if uuid is None else known.documents[uuid]

    def take(self, given: GuestDocuments) -> None:
        """Keep what came, and forget the guests that are not of this host (any more). Raises OSError."""
        with self._lock:
            if given.verify_key != self._key:
                self._write(KEY_FILE, given.verify_key)
                self._key = given.verify_key
            wanted = set(given.instances)
            for uuid in (self._known.digests.keys() | self._passwords.keys()) - wanted:
                self._forget(uuid)
            stored: dict[str, SignedDocument | None] = {uuid: None for uuid in self._known.digests if uuid in wanted}
            for signed in given.documents:
                if parse_uuid(signed.instance_uuid) is None or self._verified(signed) is None:
                    log.error("metadata that came for guest %.40s is not signed for this host", signed.instance_uuid)
                    continue
                self._write(signed.instance_uuid + DOCUMENT, msgspec.json.encode(signed).decode())
                stored[signed.instance_uuid] = signed
            self._publish(stored)

    def password_of(self, uuid: str) -> str:
        """What the guest told, whether the control plane has it by now or not; empty: nothing."""
        document = self._known.documents.get(uuid)
        return self._passwords.get(uuid) or (document.password if document else "")

    def password_note(self, uuid: str, password: str) -> bool:
        """Keep what a guest told until the control plane has it. False: it told something before. Raises OSError."""
        with self._lock:
            if self.password_of(uuid):
                return False
            self._write(uuid + PASSWORD, password)
            self._passwords[uuid] = password
            return True

    def passwords(self) -> dict[str, str]:
        """What guests told and the control plane does not have yet."""
        with self._lock:
            return dict(self._passwords)

    def password_done(self, uuid: str) -> None:
        """The control plane has it, or does not want it."""
        with self._lock:
            self._passwords.pop(uuid, None)
            (self._directory / (uuid + PASSWORD)).unlink(missing_ok=True)

    def _forget(self, uuid: str) -> None:
        self._passwords.pop(uuid, None)
        for ending in (DOCUMENT, PASSWORD):
            (self._directory / (uuid + ending)).unlink(missing_ok=True)

    def _publish(self, stored: Mapping[str, SignedDocument | None]) -> None:
        """`stored`: those that stay as they are (None), and new ones."""
        before = self._known
        digests, documents = {}, {}
        for uuid, signed in stored.items():
            document = before.documents[uuid] if signed is None else self._verified(signed)
            if document is not None:
                digests[uuid] = before.digests[uuid] if signed is None else signed.digest
                documents[uuid] = document
        self._known = _Known(digests, documents, dict(_addresses(documents.values())))

    def _verified(self, signed: SignedDocument) -> GuestDocument | None:
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(self._key, validate=True))
            key.verify(base64.b64decode(signed.signature, validate=True), signed.content.encode())
            document = _content.decode(signed.content)
        except (InvalidSignature, binascii.Error, ValueError, msgspec.DecodeError):
            return None
        is_ours = document.host == self._host and document.guest.uuid == signed.instance_uuid
        return document if is_ours else None

    def _write(self, name: str, text: str) -> None:
        """Whole or not at all, also when the power goes."""
        path, partial = self._directory / name, self._directory / (name + PARTIAL)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        reach("computeagent.metadata.store:written")
        partial.replace(path)


def _read(path: Path) -> SignedDocument | None:
    try:
        return _signed.decode(path.read_bytes())
    except msgspec.DecodeError:
        return None


def _addresses(documents: Collection[GuestDocument]) -> Iterable[tuple[tuple[str, str], str]]:
    """Of cards that are devices nobody hears anything here."""
    for document in documents:
        for port in document.guest.ports:
            if port.is_tapped:
                for fixed in port.addresses:
                    yield (port.network, fixed.address), document.guest.uuid
