"""The one directory of all that `manage.py up` writes, and who else may enter what of it."""

from pathlib import Path

from controlplane.kernel.state_parts import StatePart

CLOSED, PASSABLE = 0o700, 0o711
MODES = {
    StatePart.AGENTS: PASSABLE,
    StatePart.CACHE: PASSABLE,
    StatePart.HYPERVISORS: PASSABLE,
    StatePart.IMAGES: CLOSED,
    StatePart.LOGS: CLOSED,
    StatePart.NETWORKS: CLOSED,
    StatePart.STATIC: CLOSED,
    StatePart.VOLUMES: PASSABLE,
}


def state_directory_prepare(path: Path) -> None:
    """Have it, and the directories in it. QEMU runs as a user of its own and passes through to the files of its guests;
    nobody else lists anything, and what is of no guest is closed. Directories that are there are closed or opened too.
    """
    path.mkdir(parents=True, exist_ok=True, mode=CLOSED)
    for name, mode in MODES.items():
        directory = path / name
        directory.mkdir(exist_ok=True, mode=CLOSED)
        directory.chmod(mode)
    path.chmod(path.stat().st_mode & 0o7777 | PASSABLE)
