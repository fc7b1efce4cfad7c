"""Documents as a control plane signs them."""

import base64
from dataclasses import replace
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from computeagent.protocol.guest_config import FirstBoot
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.metadata import GuestDocument, GuestDocuments, SignedDocument
from computeagent.protocol.networks import FixedAddress, NetworkBackendKind

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
HOST = "h1"
RED, BLUE = "11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000"


def guest_of(uuid: str, *addresses: str, network: str = RED, **changes: Any) -> GuestSpec:
    """A guest with one port, which has these addresses."""
    fixed = tuple(FixedAddress("s", address) for address in addresses)
    port = PortSpec("52:54:00:00:00:01", network, id=uuid, kind=NetworkBackendKind.BRIDGE, addresses=fixed)
    guest = GuestSpec(
        uuid=uuid, name="web-1", project_id="p1", vcpus=1, memory_mib=64, root_gib=1, ephemeral_gib=0, swap_mib=0,
        image_id="i1", image_checksum="", image_size_bytes=0, image_disk_format="raw", ports=(port,),
        first_boot=FirstBoot(vendor_data='{"static": 1}', vendor_data2='{"static": {}}'),
    )  # fmt: skip
    return replace(guest, **changes)


def signed(document: GuestDocument, *, digest: str = "d", key: Ed25519PrivateKey = KEY) -> SignedDocument:
    content = msgspec.json.encode(document)
    signature = base64.b64encode(key.sign(content)).decode()
    return SignedDocument(document.guest.uuid, digest, content.decode(), signature)


def given(*documents: GuestDocument, also: tuple[str, ...] = (), key: Ed25519PrivateKey = KEY) -> GuestDocuments:
    """These documents, for these guests and `also` others that the host has already."""
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    instances = (*(one.guest.uuid for one in documents), *also)
    return GuestDocuments(public, instances, tuple(signed(one, key=key) for one in documents))
