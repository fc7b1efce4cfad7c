"""Files of the directory store: errors of the file system as the store's own, and renames that survive a power cut."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Whatever the file system refuses inside is raised as Unavailable."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            _("The image store cannot take the file: {strerror}.", strerror=error.strerror or error)
        ) from error


def directory_sync(directory: Path) -> None:
    """Make the rename itself durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
