"""What the service says to a path: Nova's, which are OpenStack's tree and EC2's.

Other than its config drive, the service says neither the password nor the files of a guest's first boot, and gives
another seed each time.
"""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from computeagent.drivers.guest_documents import (
    GRIZZLY,
    LATEST,
    OPENSTACK_VERSIONS,
    ec2_meta_data,
    has_since,
    openstack_files,
)
from computeagent.drivers.user_data import user_data_bytes
from computeagent.protocol.metadata import GuestDocument

PASSWORD = "password"  # noqa: S105 - the name of a path
EC2_VERSIONS = (
    "1.0",
    "2007-01-19",
    "2007-03-01",
    "2007-08-29",
    "2007-10-10",
    "2007-12-15",
    "2008-02-01",
    "2008-09-01",
    "2009-04-04",
)
_EC2_SINCE = {
    "local-hostname": "2007-01-19",
    "public-hostname": "2007-01-19",
    "public-ipv4": "2007-01-19",
    "instance-type": "2007-08-29",
    "block-device-mapping": "2007-12-15",
    "kernel-id": "2007-12-15",
    "ramdisk-id": "2007-12-15",
    "placement": "2008-02-01",
    "instance-action": "2008-09-01",
}
TEXT, JSON = "text/plain; charset=utf-8", "application/json"
Tree = str | int | bytes | Sequence[str] | Mapping[str, "Tree"]


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """A document, and what kind it is of."""

    content: bytes
    content_type: str = TEXT


def is_password(path: str) -> bool:
    """Whether this is where a guest tells its password, and reads it."""
    match _parts(path):
        case ["openstack", version, name]:
            return name == PASSWORD and _is_version(version) and has_since(version, GRIZZLY)
    return False


def answer_of(document: GuestDocument, path: str, *, address: str, seed: bytes) -> MetadataAnswer | None:
    """What the guest, which asks from `address`, gets; None: there is no such path. Raises DriverError for user data
    that is not base64.
    """
    match _parts(path):
        case ["openstack"]:
            return _lines((*OPENSTACK_VERSIONS, LATEST))
        case ["openstack", version, *rest] if _is_version(version):
            return _openstack(document, version, rest, seed)
        case ["openstack", *_]:
            return None
        case [] | ["ec2"]:
            return _lines((*EC2_VERSIONS, LATEST))
        case ["ec2", version, *rest] | [version, *rest] if version in EC2_VERSIONS or version == LATEST:
            return _ec2(document, version, rest, address)
    return None


def _parts(path: str) -> list[str]:
    """Slashes that are doubled or trail mean nothing, and nothing is above the root."""
    return [part for part in posixpath.normpath("/" + path).split("/") if part]


def _is_version(version: str) -> bool:
    return version in OPENSTACK_VERSIONS or version == LATEST


def _openstack(document: GuestDocument, version: str, rest: list[str], seed: bytes) -> MetadataAnswer | None:
    said = document.guest.first_boot
    guest = replace(document.guest, first_boot=replace(said, admin_password="", files=()))
    files = openstack_files(guest, guest.ports, version, seed=seed)
    match rest:
        case []:
            own = (PASSWORD,) if has_since(version, GRIZZLY) else ()
            return _lines(sorted((*files, *own)))
        case [name] if name in files:
            return MetadataAnswer(files[name], JSON if name.endswith(".json") else TEXT)
    return None


def _ec2(document: GuestDocument, version: str, rest: list[str], address: str) -> MetadataAnswer | None:
    guest = document.guest
    known = ec2_meta_data(guest)
    known |= {
        "local-ipv4": known["local-ipv4"] or address,
        "public-ipv4": next(iter(document.floating_addresses), ""),
        "security-groups": list(document.security_groups),
    }
    seen = {key: value for key, value in known.items() if has_since(version, _EC2_SINCE.get(key, ""))}
    top: dict[str, Tree] = {"meta-data": cast("Tree", seen)}
    if guest.user_data_base64:
        top["user-data"] = user_data_bytes(guest)
    tree: Tree = top
    for name in rest:
        if not isinstance(tree, Mapping) or name not in tree or name == "_name":
            return None
        tree = tree[name]
    return MetadataAnswer(_printed(tree))


def _printed(tree: Tree) -> bytes:
    """EC2's form: a folder is a list of names, folders among them with a slash behind, unless they bear a label."""
    if isinstance(tree, bytes):
        return tree
    if isinstance(tree, Mapping):
        names = (_name(key, below) for key, below in sorted(tree.items()) if key != "_name")
        return _text("\n".join(names))
    return _text("\n".join(tree) if isinstance(tree, list | tuple) else str(tree))


def _name(key: str, below: Tree) -> str:
    return str(below.get("_name", f"{key}/")) if isinstance(below, Mapping) else key


def _lines(names: Sequence[str]) -> MetadataAnswer:
    return MetadataAnswer(_text("\n".join(names)))


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")
