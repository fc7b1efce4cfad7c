"""The directory of a hypervisor that is this project's own: named by its URI, and short enough for sockets."""

import hashlib
import os
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from computeagent.drivers.base import DriverError

SOCKET_PATH_MAX_BYTES = 107  # sun_path of unix(7), less its final NUL


def root_of(uri: str) -> Path:
    """The directory that a URI with `?root=DIRECTORY` names. Raises DriverError."""
    roots = parse_qs(urlsplit(uri).query).get("root", [])
    if len(roots) != 1:
        raise DriverError(f"{uri}: this hypervisor needs exactly one ?root=DIRECTORY")
    if not Path(roots[0]).is_absolute():
        raise DriverError(f"{uri}: root must be an absolute directory, and {roots[0]!r} is not")
    return Path(roots[0])


def short_path(directory: Path, *, max_bytes: int) -> Path:
    """`directory`, or a symbolic link to it where its path has more than `max_bytes`.

    Raises DriverError where the directory of such links is not private to this user, OSError as the system does.
    """
    if len(os.fsencode(directory)) <= max_bytes:
        return directory
    links = Path("/tmp") / f"kn-{os.geteuid()}"  # noqa: S108 - its owner and mode are verified below
    links.mkdir(mode=0o711, exist_ok=True)
    state = links.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
        raise DriverError(
            f"{directory} is longer than {max_bytes} bytes, and {links} is not a private directory to link it from"
        )
    links.chmod(0o711)  # QEMU, which may be another user, makes sockets by this path
    link = links / hashlib.sha256(os.fsencode(directory)).hexdigest()[:7]
    link_ensure(link, directory)
    return link


def link_ensure(link: Path, target: Path) -> None:
    """Have a symbolic link, and the directory that it leads to. A directory in the link's place stays."""
    if link.is_dir() and not link.is_symlink():
        return
    target.mkdir(mode=0o711, parents=True, exist_ok=True)
    if link.is_symlink() and link.readlink() == target:
        return
    fresh = link.with_suffix(f".{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)
