"""The documents of vendor data: who is asked, what they are told of a guest, and what is made of their answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import UUID

from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons
from servers.instances.domain.guest_config_rules import MANUAL

VENDOR_DATA_MAX_BYTES = 64 * 1024
CLOUD_INIT = "cloud-init"
DISK_STAYS = "#cloud-config\ngrowpart: {mode: 'off'}\nresize_rootfs: false\n"
"""What cloud-init does with the root disk of a guest whose owner divides it himself."""


@dataclass(frozen=True, slots=True)
class VendorDataTarget:
    """A service, and the key that its answer gets in vendor_data2.json."""

    name: str
    url: str


class GuestAsked(Protocol):
    """What of an instance a service is told."""

    pk: Any
    project_id: UUID
    image_id: UUID | None
    user_data: str
    hostname: str
    metadata: Any


def vendor_data_targets(text: str) -> tuple[list[VendorDataTarget], Reasons]:
    """From Nova's form `name@url`, several with commas between, and what is wrong with those that are left out."""
    found: list[VendorDataTarget] = []
    reasons: Reasons = []
    for part in (part.strip() for part in text.split(",")):
        if not part:
            continue
        name, _rest, url = part.partition("@")
        if not name or urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            reasons.append(_("{part!r} is not of the form name@https://address.", part=part[:80]))
        elif name in ("static", *(each.name for each in found)):
            reasons.append(_("The name {name!r} is taken.", name=name[:80]))
        else:
            found.append(VendorDataTarget(name, url))
    return found, reasons


def vendor_data_request(instance: GuestAsked) -> dict[str, Any]:
    """The body of the question. Never a password or an injected file."""
    return {
        "project-id": str(instance.project_id),
        "instance-id": str(instance.pk),
        "image-id": str(instance.image_id or ""),
        "user-data": instance.user_data or None,
        "hostname": instance.hostname,
        "metadata": dict(instance.metadata),
        "boot-roles": "",
    }


def vendor_data_merged(static: Mapping[str, Any] | None, dynamic: Mapping[str, Any]) -> dict[str, Any]:
    """vendor_data2.json: the file's object under `static`, if there is a file, and each answer under its name."""
    return ({} if static is None else {"static": dict(static)}) | dict(dynamic)


def with_disk_config(static: Mapping[str, Any], disk_config: str) -> dict[str, Any]:
    """vendor_data.json: the file's object; for a disk that is MANUAL, also the words by which cloud-init leaves it."""
    if disk_config != MANUAL:
        return dict(static)
    before = static.get(CLOUD_INIT) or []
    return {**static, CLOUD_INIT: [*(before if isinstance(before, list) else [before]), DISK_STAYS]}
