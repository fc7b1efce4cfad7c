"""The body of a new server as the service's words."""

from collections.abc import Mapping
from typing import Any

from servers.instances.domain.instance_create import InstanceCreate
from servers.openstack.compute.schemas.parts import is_yes
from servers.openstack.compute.schemas.servers import HINT_KEYS

PLAIN = {
    "name": "name",
    "metadata": "metadata",
    "availability_zone": "availability_zone",
    "key_name": "key_name",
    "tags": "tags",
    "hostname": "hostname",
    "host": "host",
    "hypervisor_hostname": "hypervisor_hostname",
    "accessIPv4": "access_ip_v4",
    "accessIPv6": "access_ip_v6",
    "OS-DCF:diskConfig": "disk_config",
    "personality": "personality",
    "adminPass": "admin_pass",
    "user_data": "user_data",
    "description": "description",
    "trusted_image_certificates": "trusted_image_certificates",
}
"""Keys whose values are taken as they are; null is what is not said."""
NAMES = {ours: key for key, ours in PLAIN.items()} | {
    "flavor": "flavorRef",
    "image": "imageRef",
    "hints": HINT_KEYS[0],
}
"""{the service's name of a field: the body's}"""
SOURCE_IDS = {"image_id": "image", "volume_id": "volume", "snapshot_id": "snapshot"}


def create_asked(body: Mapping[str, Any]) -> InstanceCreate:
    """What is asked for. The body went through its schema."""
    server = body["server"]
    asked: dict[str, Any] = {ours: server[key] for key, ours in PLAIN.items() if server.get(key) is not None}
    hints: dict[str, Any] = {}
    for key in HINT_KEYS:
        hints |= body.get(key, {})
    image = last_part(server.get("imageRef", ""))
    minimum = int(server.get("min_count", 1))
    return InstanceCreate(
        **asked,
        flavor=last_part(str(server["flavorRef"])),
        image=image,
        min_count=minimum,
        max_count=int(server["max_count"]) if "max_count" in server else None,
        hints=hints,
        config_drive=is_yes(server["config_drive"]) if server.get("config_drive", "") != "" else None,
        networks=_networks(server.get("networks")),
        security_groups=[one["name"] for one in server.get("security_groups", ()) if "name" in one],
        block_device_mapping_v2=_disks(server.get("block_device_mapping_v2"), image),
    )


def last_part(reference: str) -> str:
    """The id at the end of an address: old clients name images and flavors by their addresses."""
    return reference.rstrip("/").rpartition("/")[2]


def _networks(networks: Any) -> Any:
    if not isinstance(networks, list):
        return networks
    return [
        {"network" if key == "uuid" else key: value for key, value in one.items() if value is not None}
        for one in networks
    ]


def _disks(disks: Any, image: str) -> Any:
    """Clients name the image once more as the root disk, which says nothing that it did not say already."""
    if not disks:
        return None
    found = [_disk(one) for one in disks]
    return None if len(found) == 1 and image and _is_root_of(found[0], image) else found


def _disk(disk: Mapping[str, Any]) -> dict[str, Any]:
    """With the newer spelling of its source, and its words as values: its schema has judged them."""
    found = {key: value for key, value in disk.items() if key not in SOURCE_IDS}
    if found.get("delete_on_termination") is not None:
        found["delete_on_termination"] = is_yes(found["delete_on_termination"])
    for key, source_type in SOURCE_IDS.items():
        if disk.get(key):
            found = {"source_type": source_type, "uuid": disk[key], **found}
    return found


def _is_root_of(disk: Mapping[str, Any], image: str) -> bool:
    said = {key: value for key, value in disk.items() if value not in (None, "")}
    root = {"uuid": image, "source_type": "image", "destination_type": "local"}
    stays = is_yes(said.pop("delete_on_termination", True))
    return stays and str(said.pop("boot_index", "")) == "0" and said == root
