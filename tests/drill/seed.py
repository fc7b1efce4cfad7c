"""What an installation of a drill starts with: schema, admin, a flavor of almost nothing, images of one sector, and
agents that are enrolled.
"""

import io
from pathlib import Path

from computeagent.drivers.libvirt.boot_sector import boot_sector
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.services import admin_ensure
from controlplane.launcher.hypervisors import Hypervisor, hypervisor_enrol
from controlplane.launcher.seed import database_migrate
from servers.catalog.services.flavor import flavor_create
from servers.conf import ovn_options
from servers.images.services.image import image_create
from servers.images.services.image_store import image_upload
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.services.networks import network_create
from servers.networks.services.subnets import subnet_create
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.services.types import volume_type_create
from tests.drill.names import (
    DEVICE_NETWORK,
    DEVICE_WIRE,
    FLAVOR,
    IMAGES,
    LARGE_FLAVOR,
    LARGE_MEMORY_MIB,
    MEMORY_MIB,
    NETWORK,
    OUTSIDE,
    OVN_NETWORK,
    OVN_OUTSIDE,
    PASSWORD,
    TYPES,
    has_guest_agent,
    image_id,
    image_name,
)

IMAGE_BYTES = 1024 * 1024
"""No BIOS boots from a disk of less than a cylinder, as one in rescue is that is no larger than its image."""


def main(arguments: list[str]) -> int:
    """Write all of it, once. Of each agent, a directory of its host's name gets the secret."""
    database_migrate()
    admin_ensure(PASSWORD)
    flavor_create(name=FLAVOR, vcpus=1, memory_mib=MEMORY_MIB, root_gib=1)
    flavor_create(name=LARGE_FLAVOR, vcpus=1, memory_mib=LARGE_MEMORY_MIB, root_gib=1)
    _networks(NetworkBackendKind.BRIDGE, NETWORK, "10.77.0.0/16", OUTSIDE, "203.0.113.0/24")
    if ovn_options().ovn_northbound:
        _networks(NetworkBackendKind.OVN, OVN_NETWORK, "10.78.0.0/16", OVN_OUTSIDE, "198.51.100.0/25")
    wire = NetworkRequest(None, DEVICE_NETWORK, kind=NetworkBackendKind.BRIDGE, physical_network=DEVICE_WIRE)
    made = network_create(caller=None, request=wire)
    subnet_create(caller=None, request=SubnetRequest(network_id=made.pk, cidr="10.79.0.0/24"))
    for pool, name in TYPES.items():
        volume_type_create(request=VolumeTypeRequest(name, pools=(pool,)))
    for number in range(IMAGES):
        _image(number)
    for each in map(Path, arguments):
        hypervisor_enrol(Hypervisor(host=each.name, uri="", state_dir=each, image_cache=each))
    return 0


def _networks(kind: NetworkBackendKind, name: str, cidr: str, outside: str, outside_cidr: str) -> None:
    """A network for guests and an external one. Not shared: else an instance that names no network would get one of
    them, and no host with real guests carries it.
    """
    inner = NetworkRequest(project_id=None, name=name, kind=kind)
    outer = NetworkRequest(project_id=None, name=outside, kind=kind, is_external=True, physical_network=OUTSIDE)
    for request, range_ in ((inner, cidr), (outer, outside_cidr)):
        made = network_create(caller=None, request=request)
        subnet_create(caller=None, request=SubnetRequest(network_id=made.pk, cidr=range_))


def _image(number: int) -> None:
    uid, name = image_id(number), image_name(number)
    properties = {"hw_qemu_guest_agent": "yes"} if has_guest_agent(number) else {}
    image_create(caller=None, name=name, image_id=uid, disk_format="raw", visibility="public", properties=properties)
    data = boot_sector(f"{name} runs\r\n").ljust(IMAGE_BYTES, b"\0")
    image_upload(caller=None, image_id=uid, stream=io.BytesIO(data), declared_bytes=len(data))
