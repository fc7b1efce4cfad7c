"""The config drive: an ISO 9660 disc, label config-2, in OpenStack's layout, which cloud-init reads.

Layout: https://docs.openstack.org/nova/latest/user/metadata.html (config drives, metadata, network data).
"""

import base64
import io
import json
import re
from pathlib import Path

import pycdlib

from computeagent.drivers.user_data import user_data_bytes
from computeagent.protocol.guests import GuestSpec, PortSpec

LABEL = "config-2"
SEED_BYTES = 512
_MTU = 1500
_HOSTNAME_MAX = 63  # RFC 1035, 2.3.4


def config_drive_files(guest: GuestSpec, ports: tuple[PortSpec, ...], *, seed: bytes) -> dict[str, bytes]:
    """File name under openstack/latest -> content. Raises DriverError (USER) for user data that is not base64."""
    files = {
        "meta_data.json": _json(meta_data(guest, seed=seed)),
        "network_data.json": _json(network_data(ports)),
        "vendor_data.json": _json({}),
    }
    if guest.user_data_base64:
        files["user_data"] = user_data_bytes(guest)
    return files


def meta_data(guest: GuestSpec, *, seed: bytes) -> dict[str, object]:
    """What meta_data.json says; `seed` feeds the guest's random generator at first boot."""
    document: dict[str, object] = {
        "uuid": guest.uuid,
        "name": guest.name,
        "hostname": hostname_of(guest.name, guest.uuid),
        "project_id": guest.project_id,
        "availability_zone": guest.availability_zone,
        "launch_index": guest.launch_index,
        "meta": guest.metadata,
        "devices": [],
        "random_seed": base64.b64encode(seed).decode(),
    }
    if guest.public_key:
        name = guest.key_name or "default"
        document["public_keys"] = {name: guest.public_key}
        document["keys"] = [{"name": name, "type": "ssh", "data": guest.public_key}]
    return document


def network_data(ports: tuple[PortSpec, ...]) -> dict[str, object]:
    """What network_data.json says: each card by its MAC, addresses by DHCP."""
    links = [
        {"id": f"tap{n}", "type": "phy", "ethernet_mac_address": port.mac, "mtu": _MTU, "vif_id": f"port{n}"}
        for n, port in enumerate(ports)
    ]
    networks = [
        {"id": f"network{n}", "type": "ipv4_dhcp", "link": f"tap{n}", "network_id": port.network}
        for n, port in enumerate(ports)
    ]
    return {"links": links, "networks": networks, "services": []}


def hostname_of(name: str, guest_uuid: str) -> str:
    """A host name from an instance's name, by Nova's rule; one with nothing usable in it becomes Server-<uuid>."""
    cleaned = re.sub(r"[ _]", "-", name).lower()
    cleaned = re.sub(r"[^a-z0-9.-]", "", cleaned)
    cleaned = cleaned.replace(".", "-").strip("-")[:_HOSTNAME_MAX].rstrip("-")
    return cleaned or f"Server-{guest_uuid}"


def config_drive_write(path: Path, files: dict[str, bytes]) -> None:
    """Write the disc with `files` under openstack/latest, readable through Rock Ridge and Joliet."""
    iso = pycdlib.PyCdlib()
    iso.new(interchange_level=3, vol_ident=LABEL, joliet=3, rock_ridge="1.09")
    iso.add_directory("/OPENSTAC", rr_name="openstack", joliet_path="/openstack")
    iso.add_directory("/OPENSTAC/LATEST", rr_name="latest", joliet_path="/openstack/latest")
    for number, (name, content) in enumerate(sorted(files.items())):
        iso.add_fp(
            io.BytesIO(content),
            len(content),
            f"/OPENSTAC/LATEST/FILE{number}.;1",
            rr_name=name,
            joliet_path=f"/openstack/latest/{name}",
        )
    path.touch(mode=0o600, exist_ok=False)  # it has the user data, which is nobody else's business
    iso.write(str(path))
    iso.close()


def _json(document: dict[str, object]) -> bytes:
    # ASCII: lone surrogates in a name become escapes instead of an error.
    return json.dumps(document, sort_keys=True).encode("ascii")
