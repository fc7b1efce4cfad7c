"""What a new installation starts with: an admin, flavors, an image. What is there already is left alone."""

import secrets
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command

from controlplane.identity.domain import Caller, Role
from controlplane.identity.services import AdminBootstrap, admin_ensure
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from servers.catalog.selectors.flavor import flavors_visible
from servers.catalog.services.flavor import flavor_create
from servers.images.domain.images import UPLOADABLE, ImageStatus
from servers.images.selectors import images_visible
from servers.images.services.image import image_create
from servers.images.services.image_store import image_upload

NAMESPACE = uuid.UUID("5a0f3f0c-6a39-4d5c-8a4e-6b1f6f1d2c33")
INSTALLATION = Caller(
    user_id=NAMESPACE,
    username="installation",
    own_project_id=NAMESPACE,
    project_name="installation",
    roles=frozenset({Role.ADMIN}),
)
PLACEHOLDER_BYTES = 1024 * 1024

# name: vCPUs, memory in MiB, root disk in GiB. From m1.tiny on, the sizes that OpenStack used to ship.
FLAVORS = {
    "m1.nano": (1, MIN_RAM_MIB, 1),
    "m1.micro": (1, 2 * MIN_RAM_MIB, 1),
    "m1.tiny": (1, 512, 1),
    "m1.small": (1, 2048, 20),
    "m1.medium": (2, 4096, 40),
    "m1.large": (4, 8192, 80),
    "m1.xlarge": (8, 16384, 160),
}


@dataclass(frozen=True, slots=True)
class SeedImage:
    """An image that belongs to the installation. Its id is fixed, so that it is imported once and never twice."""

    name: str
    disk_format: str
    min_ram_mib: int = 0

    @property
    def image_id(self) -> uuid.UUID:
        """The same on every installation."""
        return uuid.uuid5(NAMESPACE, self.name)


DEMO_IMAGE = SeedImage(name="kilonova-demo", disk_format="qcow2", min_ram_mib=MIN_RAM_MIB)
PLACEHOLDER_IMAGE = SeedImage(name="placeholder", disk_format="raw")


def database_migrate() -> None:
    """Bring the schema up to date."""
    call_command("migrate", interactive=False, verbosity=0)


def admin_prepare(password_file: Path | None) -> AdminBootstrap:
    """The admin. A password file that exists is read (its first line); one that does not gets the new password."""
    if password_file is None:
        return admin_ensure()
    if password_file.exists():
        return admin_ensure(_first_line(password_file))
    # Written before the admin is made: a password that nobody can read any more would lock everybody out.
    password_file.parent.mkdir(parents=True, exist_ok=True)
    password = secrets.token_urlsafe(12)
    password_file.touch(mode=0o600, exist_ok=False)
    password_file.write_text(password + "\n")
    made = admin_ensure(password)
    if not made.created:
        password_file.unlink()
    return made


def flavors_prepare() -> int:
    """The usual flavors, if there is none at all: somebody who deleted one does not want it back. How many."""
    if flavors_visible(caller=INSTALLATION).exists():
        return 0
    for name, (vcpus, memory_mib, root_gib) in FLAVORS.items():
        with suppress(Conflict):  # another installer was faster
            flavor_create(name=name, vcpus=vcpus, memory_mib=memory_mib, root_gib=root_gib)
    return len(FLAVORS)


def demo_image_prepare(cache_dir: Path) -> bool:
    """Build and import the demo guest unless that was done; whether it was done now."""
    if not image_wanted(DEMO_IMAGE):
        return False
    _import(DEMO_IMAGE, demo_image_build(cache_dir))
    return True


def placeholder_image_prepare(cache_dir: Path) -> bool:
    """An empty disk for simulated hypervisors, which boot nothing; whether it was imported now."""
    if not image_wanted(PLACEHOLDER_IMAGE):
        return False
    cache_dir.mkdir(parents=True, exist_ok=True)
    path = cache_dir / "placeholder.raw"
    path.write_bytes(b"\0" * PLACEHOLDER_BYTES)
    _import(PLACEHOLDER_IMAGE, path)
    return True


def image_wanted(image: SeedImage) -> bool:
    """Whether it was never imported, or its import was cut off. One that somebody deleted stays deleted."""
    try:
        image_create(
            caller=None,
            name=image.name,
            image_id=image.image_id,
            disk_format=image.disk_format,
            visibility="public",
            min_ram_mib=image.min_ram_mib,
        )
    except Conflict:
        row = images_visible(caller=INSTALLATION).filter(pk=image.image_id).first()
        return row is not None and ImageStatus(row.status) in UPLOADABLE
    return True


def _import(image: SeedImage, path: Path) -> None:
    with path.open("rb") as stream:
        image_upload(caller=None, image_id=image.image_id, stream=stream, declared_bytes=path.stat().st_size)


def _first_line(path: Path) -> str:
    lines = path.read_text().splitlines()
    if not lines or not lines[0].strip():
        raise Invalid(f"{path} has no password in its first line", field="admin_password_file")
    return lines[0].strip()
