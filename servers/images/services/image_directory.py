"""Whose IMAGE_DIR it is, and which of its files are ours.

A marker file carries the id of the one installation that writes and cleans up here. A directory that also holds disks
of an operator's own, a share of two installations, and the files of a database that was restored from an older backup
lose nothing: only names of our own form are ever touched, and what no row explains is moved, never removed.
"""

import logging
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.ids import parse_uuid
from servers.conf import server_options
from servers.models import ImageStore
from servers.models.image_store import ONLY

log = logging.getLogger(__name__)
MARKER = ".kilonova-image-store"
TRASH = "trash"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = re.compile(rf"({_UUID})\.({_UUID})(\.part)?")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """`<image>.<upload>`, or with `.part` while it is being received."""

    path: Path
    image_id: uuid.UUID
    upload_id: uuid.UUID
    is_part: bool
    modified_at_s: float


def stored_files(directory: Path) -> Iterator[StoredFile]:
    """The files of uploads; everything else that lies in the directory is not ours."""
    for entry in os.scandir(directory):
        named = _NAME.fullmatch(entry.name)
        try:
            if named is None or not entry.is_file(follow_symlinks=False):
                continue
            modified_at_s = entry.stat(follow_symlinks=False).st_mtime
        except FileNotFoundError:  # its upload ended, or its image was deleted, since the listing
            continue
        image_id, upload_id = uuid.UUID(named[1]), uuid.UUID(named[2])
        yield StoredFile(Path(entry.path), image_id, upload_id, named[3] is not None, modified_at_s)


def image_directory_claim(directory: Path) -> None:
    """Make the directory this installation's unless it is another's. Raises Unavailable then, and OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    ours = _installation_id()
    if _marker_read(directory) is None and not (directory / MARKER).exists():
        # Linked into place whole: a crash leaves a marker with an id or none, and of two claims one wins.
        part = directory / f"{MARKER}.{uuid.uuid4()}"
        with part.open("w") as file:
            file.write(f"{ours}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, directory / MARKER)
        except FileExistsError:
            pass
        finally:
            part.unlink()
    if _marker_read(directory) != ours:
        raise Unavailable(
            f"IMAGE_DIR belongs to another installation: its file {MARKER} does not carry this one's id, {ours}. "
            "An administrator must set another directory, or remove that file if the other installation is gone."
        )


def image_directory_is_ours(directory: Path) -> bool:
    """Whether this installation may clean up there."""
    return _marker_read(directory) == _installation_id()


def space_check(directory: Path, more_bytes: int) -> None:
    """Raises Unavailable when so many bytes more would go below the reserve of free space, whoever writes them."""
    facts, reserve = os.statvfs(directory), server_options().image_reserve_bytes
    free = facts.f_bavail * facts.f_frsize
    if free - max(0, more_bytes) < reserve:
        log.warning(
            "IMAGE_DIR has %d bytes free and keeps %d of them; an upload of %d more was refused",
            free,
            reserve,
            more_bytes,
        )
        raise Unavailable("The image store has no room for it now. Try again later, or ask an administrator.")


def _installation_id() -> uuid.UUID:
    return ImageStore.objects.get_or_create(pk=ONLY)[0].marker


def _marker_read(directory: Path) -> uuid.UUID | None:
    try:
        return parse_uuid((directory / MARKER).read_text().strip())
    except FileNotFoundError:
        return None
