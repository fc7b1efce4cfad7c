"""What a guest reads of itself: OpenStack's tree, a folder for each version of its layout, and EC2's, as in Nova.

The config drive and the metadata service both say what is made here. Layout:
https://docs.openstack.org/nova/latest/user/metadata.html. How the drive is written: `libvirt.config_disc`.
"""

import base64
import json
from collections.abc import Mapping
from itertools import chain

from computeagent.drivers.disk_documents import tagged_disks
from computeagent.drivers.libvirt.guest_hardware import root_target
from computeagent.drivers.network_documents import network_data, tagged_cards
from computeagent.drivers.user_data import injected_files, user_data_bytes
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.names import hostname_from_name

SEED_BYTES = 512
LATEST = "latest"
GRIZZLY, HAVANA, LIBERTY, NEWTON_ONE, NEWTON_TWO = "2013-04-04", "2013-10-17", "2015-10-15", "2016-06-30", "2016-10-06"
VICTORIA = "2020-10-14"
OPENSTACK_VERSIONS = (
    "2012-08-10",
    GRIZZLY,
    HAVANA,
    LIBERTY,
    NEWTON_ONE,
    NEWTON_TWO,
    "2017-02-22",
    "2018-08-27",
    VICTORIA,
    "2025-04-04",
)
EC2_VERSIONS = ("2009-04-04",)
"""Those that Nova writes unless it is told otherwise."""
_SINCE = {"random_seed": GRIZZLY, "project_id": LIBERTY, "devices": NEWTON_ONE, "dedicated_cpus": VICTORIA}
"""Keys of meta_data.json that earlier versions do not have."""


def config_drive_files(guest: GuestSpec, ports: tuple[PortSpec, ...], *, seed: bytes) -> dict[str, bytes]:
    """Path on the drive -> content; `seed` feeds the guest's random generator at first boot.

    Raises DriverError (USER) for user data or an injected file that is not base64.
    """
    files = {f"openstack/content/{number:04}": content for number, content in enumerate(injected_files(guest).values())}
    for version in (*OPENSTACK_VERSIONS, LATEST):
        files |= _below(f"openstack/{version}", openstack_files(guest, ports, version, seed=seed))
    for version in (*EC2_VERSIONS, LATEST):
        documents = {"meta-data.json": _json(ec2_meta_data(guest))}
        if guest.user_data_base64:
            documents["user-data"] = user_data_bytes(guest)
        files |= _below(f"ec2/{version}", documents)
    return files


def openstack_files(guest: GuestSpec, ports: tuple[PortSpec, ...], version: str, *, seed: bytes) -> dict[str, bytes]:
    """What OpenStack's layout of this version has, by name. Raises DriverError (USER): user data is not base64."""
    said, known = guest.first_boot, meta_data(guest, seed=seed)
    files = {
        "meta_data.json": _json({key: value for key, value in known.items() if has_since(version, _SINCE.get(key, ""))})
    }
    if guest.user_data_base64:
        files["user_data"] = user_data_bytes(guest)
    if has_since(version, HAVANA):
        files["vendor_data.json"] = said.vendor_data.encode() or b"{}"
    if has_since(version, LIBERTY):
        files["network_data.json"] = _json(network_data(ports))
    if has_since(version, NEWTON_TWO):
        files["vendor_data2.json"] = said.vendor_data2.encode() or b"{}"
    return files


def meta_data(guest: GuestSpec, *, seed: bytes) -> dict[str, object]:
    """What meta_data.json says in the newest layout."""
    document: dict[str, object] = {
        "uuid": guest.uuid,
        "name": guest.name,
        "hostname": hostname_of(guest),
        "project_id": guest.project_id,
        "availability_zone": guest.availability_zone,
        "launch_index": guest.launch_index,
        "meta": guest.metadata,
        "devices": [*tagged_cards(guest.ports), *tagged_disks(guest)],
        "dedicated_cpus": _dedicated_cpus(guest),
        "random_seed": base64.b64encode(seed).decode(),
    }
    if guest.public_key:
        name = guest.key_name or "default"
        document["public_keys"] = {name: guest.public_key}
        document["keys"] = [{"name": name, "type": "ssh", "data": guest.public_key}]
    if guest.first_boot.admin_password:
        document["admin_pass"] = guest.first_boot.admin_password
    if guest.first_boot.files:
        document["files"] = [
            {"path": each.path, "content_path": f"/content/{number:04}"}
            for number, each in enumerate(guest.first_boot.files)
        ]
    return document


def ec2_meta_data(guest: GuestSpec) -> dict[str, object]:
    """What EC2's tree says, in its version 2009-04-04. An address is known where the control plane gave it."""
    root = next((each.device for each in guest.volumes if each.boot_index == 0), "") or root_target(guest)
    hostname, boots = hostname_of(guest), guest.direct_boot
    document: dict[str, object] = {
        "ami-id": _ec2_id("ami", guest.image_id),
        "ami-launch-index": guest.launch_index,
        "ami-manifest-path": "(unknown)",
        "block-device-mapping": {"ami": root, "root": f"/dev/{root}"},
        "hostname": hostname,
        "instance-action": "none",
        "instance-id": _ec2_id("i", guest.uuid),
        "instance-type": guest.config.flavor_name,
        "local-hostname": hostname,
        "local-ipv4": _first_ipv4(guest),
        "placement": {"availability-zone": guest.availability_zone},
        "public-hostname": hostname,
        "public-ipv4": "",
        "reservation-id": guest.config.reservation_id,
        "security-groups": [],
    }
    if boots is not None:
        document["kernel-id"] = _ec2_id("aki", boots.kernel.image_id)
        if boots.ramdisk is not None:
            document["ramdisk-id"] = _ec2_id("ari", boots.ramdisk.image_id)
    if guest.public_key:
        document["public-keys"] = {"0": {"_name": f"0={guest.key_name or 'default'}", "openssh-key": guest.public_key}}
    return document


def hostname_of(guest: GuestSpec) -> str:
    """The record's host name; of an instance that is older than such records, what its name makes."""
    return guest.config.hostname or hostname_from_name(guest.name, guest.uuid)


def _below(folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def has_since(version: str, since: str) -> bool:
    """Versions are dates, so they compare as text, and `latest` comes after all of them."""
    return version >= since


def _dedicated_cpus(guest: GuestSpec) -> list[int]:
    """The guest's CPUs that have a host CPU of their own."""
    cells = () if guest.numa_topology is None else guest.numa_topology.cells
    return sorted(chain.from_iterable(cell.pcpuset for cell in cells))


def _first_ipv4(guest: GuestSpec) -> str:
    addresses = (fixed.address for port in guest.ports for fixed in port.addresses)
    return next((address for address in addresses if ":" not in address), "")


def _ec2_id(kind: str, text: str) -> str:
    """EC2's ids are short; the beginning of a uuid stands for it."""
    return f"{kind}-{text.replace('-', '')[:8]}"


def _json(document: Mapping[str, object]) -> bytes:
    # ASCII: lone surrogates in a name become escapes instead of an error.
    return json.dumps(document, sort_keys=True).encode("ascii")
