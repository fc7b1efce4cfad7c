"""Flavors, images and key pairs of a demo."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.kernel.units import GIB
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.rows import rows_write
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from servers.catalog.selectors.flavor import flavor_snapshots
from servers.catalog.services.flavor import flavor_create
from servers.images.domain.images import ImageStatus, Visibility
from servers.images.selectors import image_asked, image_snapshot
from servers.models import Flavor, Image

GPU_FLAVOR, PINNED_FLAVOR = "g1.small", "c1.pinned"
TRAINING_FLAVOR, METAL_FLAVOR, HUGE_FLAVOR = "g1.train", "c1.metal", "x1.huge"
"""Flavors that fit on no host, each for another reason."""
MISSING_TRAIT = "CUSTOM_GPU_A100"

# name: vCPUs, memory in MiB, root disk in GiB, how often it is asked for, extra specs.
FLAVORS: dict[str, tuple[int, int, int, int, dict[str, str]]] = {
    "m1.tiny": (1, 512, 1, 4, {}),
    "m1.small": (1, 2048, 20, 22, {}),
    "m1.medium": (2, 4096, 40, 30, {}),
    "m1.large": (4, 8192, 80, 24, {}),
    "m1.xlarge": (8, 16384, 160, 10, {}),
    "m1.2xlarge": (16, 32768, 320, 3, {}),
    "c1.large": (8, 8192, 40, 4, {}),
    "r1.large": (4, 32768, 80, 3, {}),
    GPU_FLAVOR: (8, 32768, 80, 0, {"resources:VGPU": "1"}),
    PINNED_FLAVOR: (4, 8192, 40, 0, {"hw:cpu_policy": "dedicated"}),
    "n1.large": (8, 16384, 80, 0, {"hw:numa_nodes": "2"}),
    METAL_FLAVOR: (48, 65536, 400, 0, {"hw:cpu_policy": "dedicated", "hw:numa_nodes": "1"}),
    TRAINING_FLAVOR: (32, 131072, 400, 0, {f"trait:{MISSING_TRAIT}": "required"}),
    HUGE_FLAVOR: (96, 1572864, 400, 0, {}),
}
RETIRED_FLAVOR = "m0.legacy"

# name: disk format, GiB of file and of disk, properties.
IMAGES: dict[str, tuple[str, float, int, dict[str, str]]] = {
    "debian-13": ("qcow2", 0.4, 3, {"os_distro": "debian", "hw_disk_bus": "virtio"}),
    "ubuntu-26.04": ("qcow2", 0.7, 4, {"os_distro": "ubuntu", "hw_disk_bus": "virtio"}),
    "rocky-10": ("qcow2", 1.1, 10, {"os_distro": "rocky"}),
    "alpine-3.23": ("raw", 0.1, 1, {"os_distro": "alpine"}),
    "windows-2025": ("qcow2", 8.5, 32, {"os_type": "windows", "hw_firmware_type": "uefi"}),
}


@dataclass(frozen=True, slots=True)
class FlavorOnOffer:
    """A flavor with what is stored of it in an instance and in a request spec."""

    id: UUID
    name: str
    snapshot: dict[str, Any]
    asked: FlavorSnapshot

    @property
    def amounts(self) -> dict[str, int]:
        """What an instance claims, by resource class."""
        virtual_gpus = int(self.asked.extra_specs.get("resources:VGPU", 0))
        amounts = {"VCPU": self.asked.vcpus, "MEMORY_MB": self.asked.memory_mib, "DISK_GB": self.asked.root_gib}
        return amounts | ({"VGPU": virtual_gpus} if virtual_gpus else {})


@dataclass(frozen=True, slots=True)
class ImageOnOffer:
    """An image, likewise."""

    id: UUID
    name: str
    snapshot: dict[str, Any]
    asked: ImageSnapshot


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What instances are made of."""

    flavors: dict[str, FlavorOnOffer]
    images: dict[str, ImageOnOffer]


def catalogue_write(plan: DemoPlan) -> Catalogue:
    """Write flavors and images. The files of images are not there: nothing boots them."""
    for name, (vcpus, memory_mib, root_gib, _, specs) in FLAVORS.items():
        flavor_create(
            name=name,
            vcpus=vcpus,
            memory_mib=memory_mib,
            root_gib=root_gib,
            extra_specs=specs,
            flavor_id=plan.uuid("flavor", name),
        )
    flavor_create(
        name=RETIRED_FLAVOR, vcpus=1, memory_mib=1024, root_gib=8, disabled=True, description="Use m1.small instead."
    )
    images = [_image(plan, name) for name in IMAGES]
    rows_write(Image, [*images, _refused_image(plan)])
    rows = list(Flavor.objects.filter(name__in=FLAVORS))
    flavors = {
        row.name: FlavorOnOffer(row.pk, row.name, snapshot, FlavorSnapshot(**snapshot))
        for row, snapshot in zip(rows, flavor_snapshots(rows), strict=True)
    }
    return Catalogue(
        flavors, {row.name: ImageOnOffer(row.pk, row.name, image_snapshot(row), image_asked(row)) for row in images}
    )


def _image(plan: DemoPlan, name: str) -> Image:
    disk_format, gib, disk_gib, properties = IMAGES[name]
    return Image(
        id=plan.uuid("image", name),
        name=name,
        visibility=Visibility.PUBLIC.value,
        status=ImageStatus.ACTIVE.value,
        disk_format=disk_format,
        checksum_sha256=plan.uuid("checksum", name).hex * 2,
        size_bytes=int(gib * GIB),
        virtual_size_bytes=disk_gib * GIB,
        properties=properties,
    )


def _refused_image(plan: DemoPlan) -> Image:
    return Image(
        id=plan.uuid("image", "refused"),
        name="centos-5-import",
        visibility=Visibility.PUBLIC.value,
        status=ImageStatus.QUEUED.value,
        status_reason="The file is no image of format qcow2: its first bytes are those of a web page.",
    )
