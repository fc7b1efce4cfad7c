"""What an installation of a drill starts with: schema, admin, a flavor of almost nothing, images of one sector, and
agents that are enrolled.
"""

import io
from pathlib import Path

from computeagent.drivers.libvirt.boot_sector import boot_sector
from controlplane.identity.services import admin_ensure
from controlplane.launcher.hypervisors import Hypervisor, hypervisor_enrol
from controlplane.launcher.seed import database_migrate
from servers.catalog.services.flavor import flavor_create
from servers.images.services.image import image_create
from servers.images.services.image_store import image_upload
from tests.drill.names import FLAVOR, IMAGES, MEMORY_MIB, PASSWORD, image_id, image_name

IMAGE_BYTES = 64 * 1024


def main(arguments: list[str]) -> int:
    """Write all of it, once. Of each agent, a directory of its host's name gets the secret."""
    database_migrate()
    admin_ensure(PASSWORD)
    flavor_create(name=FLAVOR, vcpus=1, memory_mib=MEMORY_MIB, root_gib=1)
    for number in range(IMAGES):
        _image(number)
    for each in map(Path, arguments):
        hypervisor_enrol(Hypervisor(host=each.name, uri="", state_dir=each, image_cache=each))
    return 0


def _image(number: int) -> None:
    uid, name = image_id(number), image_name(number)
    image_create(caller=None, name=name, image_id=uid, disk_format="raw", visibility="public")
    data = boot_sector(f"{name} runs\r\n").ljust(IMAGE_BYTES, b"\0")
    image_upload(caller=None, image_id=uid, stream=io.BytesIO(data), declared_bytes=len(data))
